//! The C interface of DuckDB (`duckdb.h`), loaded from a file. Nothing else in this crate is `unsafe`.
#![allow(unsafe_code, reason = "each block says why it is sound")]

use std::ffi::{CStr, CString, NulError, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{Builder, scope};
use std::time::{Duration, Instant};

use libloading::os::unix::{Library as Loaded, RTLD_LAZY, RTLD_LOCAL};

use crate::parameter::{Number, Parameter};

/// `DuckDBSuccess`
const SUCCESS: c_int = 0;
/// `DUCKDB_RESULT_TYPE_CHANGED_ROWS`
const CHANGED_ROWS: c_int = 1;
/// `DUCKDB_RESULT_TYPE_QUERY_RESULT`
const QUERY_RESULT: c_int = 3;

/// Time between two interrupts of a statement that continues.
const INTERVAL: Duration = Duration::from_millis(50);

type Handle = *mut c_void;

/// `duckdb_result`
#[repr(C)]
#[derive(Clone, Copy)]
struct RawResult {
    deprecated: [u64; 3],
    deprecated_pointers: [Handle; 2],
    internal_data: Handle,
}

/// `duckdb_hugeint`
#[repr(C)]
#[derive(Clone, Copy)]
struct HugeInt {
    lower: u64,
    upper: i64,
}

/// `duckdb_decimal`
#[repr(C)]
#[derive(Clone, Copy)]
struct Decimal {
    width: u8,
    scale: u8,
    value: HugeInt,
}

/// `duckdb_string_t`, which is 16 bytes.
#[repr(C)]
struct RawString([u64; 2]);

/// Declares the functions that are used, and reads them from the library.
macro_rules! functions {
    ($($name:ident($($of:ty),*) $(-> $gives:ty)?;)*) => {
        /// Functions of the library.
        struct Functions {
            $($name: unsafe extern "C" fn($($of),*) $(-> $gives)?,)*
        }

        impl Functions {
            /// Finds all functions.
            ///
            /// # Safety
            /// The library has to be DuckDB, whose functions have these types (`duckdb.h`).
            unsafe fn find(loaded: &Loaded) -> Result<Self, String> {
                // SAFETY: as the caller promises.
                unsafe {
                    Ok(Self {
                        $($name: *loaded.get(concat!("duckdb_", stringify!($name), "\0").as_bytes()).map_err(|_| {
                            let name = concat!("duckdb_", stringify!($name));
                            format!("it has no function `{name}`: it is no DuckDB, or an older one")
                        })?,)*
                    })
                }
            }
        }
    };
}

functions! {
    library_version() -> *const c_char;
    create_config(*mut Handle) -> c_int;
    set_config(Handle, *const c_char, *const c_char) -> c_int;
    destroy_config(*mut Handle);
    open_ext(*const c_char, *mut Handle, Handle, *mut *mut c_char) -> c_int;
    close(*mut Handle);
    connect(Handle, *mut Handle) -> c_int;
    disconnect(*mut Handle);
    interrupt(Handle);
    free(Handle);
    extract_statements(Handle, *const c_char, *mut Handle) -> u64;
    extract_statements_error(Handle) -> *const c_char;
    destroy_extracted(*mut Handle);
    prepare_extracted_statement(Handle, Handle, u64, *mut Handle) -> c_int;
    prepare_error(Handle) -> *const c_char;
    destroy_prepare(*mut Handle);
    prepared_statement_type(Handle) -> c_int;
    nparams(Handle) -> u64;
    parameter_name(Handle, u64) -> *const c_char;
    bind_null(Handle, u64) -> c_int;
    bind_boolean(Handle, u64, bool) -> c_int;
    bind_int64(Handle, u64, i64) -> c_int;
    bind_hugeint(Handle, u64, HugeInt) -> c_int;
    bind_decimal(Handle, u64, Decimal) -> c_int;
    bind_double(Handle, u64, f64) -> c_int;
    bind_varchar_length(Handle, u64, *const c_char, u64) -> c_int;
    execute_prepared_streaming(Handle, *mut RawResult) -> c_int;
    result_error(*mut RawResult) -> *const c_char;
    result_return_type(RawResult) -> c_int;
    rows_changed(*mut RawResult) -> u64;
    destroy_result(*mut RawResult);
    fetch_chunk(RawResult) -> Handle;
    destroy_data_chunk(*mut Handle);
    data_chunk_get_size(Handle) -> u64;
    data_chunk_get_column_count(Handle) -> u64;
    data_chunk_get_vector(Handle, u64) -> Handle;
    vector_get_data(Handle) -> *mut RawString;
    vector_get_validity(Handle) -> *mut u64;
    validity_row_is_valid(*mut u64, u64) -> bool;
    string_t_length(RawString) -> u32;
    string_t_data(*mut RawString) -> *const c_char;
}

/// A loaded library. It stays loaded until the process ends.
pub(crate) struct DuckDb {
    functions: Functions,
    /// Library, held so that the functions stay in memory.
    _loaded: Loaded,
}

/// An open database.
pub(crate) struct Database<'d> {
    duckdb: &'d DuckDb,
    handle: Handle,
}

/// A connection.
pub(crate) struct Connection<'d> {
    database: &'d Database<'d>,
    handle: Handle,
}

/// The statements of a text.
pub(crate) struct Statements<'c> {
    connection: &'c Connection<'c>,
    handle: Handle,
    count: usize,
}

/// A statement that is bound to the content of the database.
pub(crate) struct Prepared<'s> {
    connection: &'s Connection<'s>,
    handle: Handle,
}

/// The result of a statement, which may still be computed.
pub(crate) struct Rows<'p> {
    connection: &'p Connection<'p>,
    raw: RawResult,
}

/// Copies a message of the library.
///
/// # Safety
/// `message` is null or a text that ends with NUL and does not change meanwhile.
unsafe fn text(message: *const c_char) -> String {
    if message.is_null() {
        return "DuckDB gives no reason".to_owned();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}

/// Copies a value of a vector.
///
/// # Safety
/// `value` is a `duckdb_string_t` that is alive.
unsafe fn value_text(f: &Functions, value: *mut RawString) -> String {
    // SAFETY: as the caller promises; the bytes belong to the value.
    unsafe {
        let length = usize::try_from((f.string_t_length)(value.read())).unwrap_or(0);
        let bytes = std::slice::from_raw_parts((f.string_t_data)(value).cast::<u8>(), length);
        String::from_utf8_lossy(bytes).into_owned()
    }
}

fn no_nul(error: &NulError) -> String {
    format!("it has a NUL byte at byte {}", error.nul_position())
}

impl DuckDb {
    /// Loads a library. The caller has compared its digest.
    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        // SAFETY: its initialisers run now. The file is one that the operator or the table of
        // tested libraries names by its digest, and this process is confined and holds no secret.
        let loaded = unsafe { Loaded::open(Some(path), RTLD_LAZY | RTLD_LOCAL) };
        let loaded = loaded.map_err(|error| error.to_string())?;
        // SAFETY: the digest says that it is DuckDB.
        let functions = unsafe { Functions::find(&loaded) }?;
        Ok(Self { functions, _loaded: loaded })
    }

    /// Returns the version, such as `v2.0.1`.
    pub(crate) fn version(&self) -> String {
        // SAFETY: the library returns a constant.
        unsafe { text((self.functions.library_version)()) }
    }

    /// Opens a database under these settings.
    pub(crate) fn open(
        &self,
        path: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Database<'_>, String> {
        let f = &self.functions;
        let path = CString::new(OsStr::new(path).as_bytes()).map_err(|error| no_nul(&error))?;
        let mut config = null_mut();
        // SAFETY: the pointers are to variables of this function, and each text lives through its
        // call. The configuration is destroyed on each way out; a message is freed as `duckdb.h`
        // says.
        unsafe {
            if (f.create_config)(&mut config) != SUCCESS {
                return Err("DuckDB has no memory for its settings".to_owned());
            }
            for (name, value) in settings {
                let pair = CString::new(*name).and_then(|name| Ok((name, CString::new(*value)?)));
                let set = pair.is_ok_and(|(name, value)| {
                    (f.set_config)(config, name.as_ptr(), value.as_ptr()) == SUCCESS
                });
                if !set {
                    (f.destroy_config)(&mut config);
                    return Err(format!("DuckDB does not take the setting `{name}`"));
                }
            }
            let (mut handle, mut message) = (null_mut(), null_mut());
            let opened = (f.open_ext)(path.as_ptr(), &mut handle, config, &mut message);
            (f.destroy_config)(&mut config);
            if opened == SUCCESS {
                return Ok(Database { duckdb: self, handle });
            }
            let why = text(message);
            (f.free)(message.cast());
            Err(why)
        }
    }
}

impl Database<'_> {
    /// Connects to it.
    pub(crate) fn connect(&self) -> Result<Connection<'_>, String> {
        let mut handle = null_mut();
        // SAFETY: the database is open, and `handle` is a variable.
        match unsafe { (self.duckdb.functions.connect)(self.handle, &mut handle) } {
            SUCCESS => Ok(Connection { database: self, handle }),
            _ => Err("DuckDB refuses a connection".to_owned()),
        }
    }
}

impl Connection<'_> {
    fn functions(&self) -> &Functions {
        &self.database.duckdb.functions
    }

    /// Runs a statement of our own; returns its rows.
    pub(crate) fn command(&self, text: &str) -> Result<u64, String> {
        self.extract(text)?.prepare(0)?.execute()?.count()
    }

    /// Does work on this connection, and interrupts it if it takes longer than until then.
    ///
    /// # Errors
    /// If no thread can be started. The work is not begun then.
    pub(crate) fn until<T>(
        &self,
        deadline: Instant,
        work: impl FnOnce() -> T,
    ) -> Result<T, String> {
        /// A connection whose statements another thread may interrupt.
        struct Interrupt(unsafe extern "C" fn(Handle), Handle);
        // SAFETY: `duckdb_interrupt` may be called by any thread while the connection is open, and
        // nothing else is called here.
        unsafe impl Send for Interrupt {}
        impl Interrupt {
            fn call(&self) {
                // SAFETY: the scope of the thread ends before the connection is closed.
                unsafe { (self.0)(self.1) }
            }
        }
        let interrupt = Interrupt(self.functions().interrupt, self.handle);
        scope(|scope| {
            let (done, ended) = channel::<()>();
            let watch = move || {
                let mut left = deadline.saturating_duration_since(Instant::now());
                // Work that begins after an interrupt resets it, so it is repeated.
                while ended.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                    interrupt.call();
                    left = INTERVAL;
                }
            };
            let started = Builder::new().spawn_scoped(scope, watch);
            started.map_err(|error| format!("no thread can be started: {error}"))?;
            let result = work();
            drop(done);
            Ok(result)
        })
    }

    /// Parses a text.
    pub(crate) fn extract(&self, query: &str) -> Result<Statements<'_>, String> {
        let query = CString::new(query).map_err(|error| no_nul(&error))?;
        let mut handle = null_mut();
        let f = self.functions();
        // SAFETY: connection and text live through the call. What was extracted is destroyed, here
        // or on drop, also where there is nothing in it (`duckdb.h`).
        unsafe {
            let count = (f.extract_statements)(self.handle, query.as_ptr(), &mut handle);
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            if count > 0 || handle.is_null() {
                return Ok(Statements { connection: self, handle, count });
            }
            let message = (f.extract_statements_error)(handle);
            let why = (!message.is_null()).then(|| text(message));
            let statements = Statements { connection: self, handle, count };
            why.map_or(Ok(statements), Err)
        }
    }
}

impl Statements<'_> {
    /// Number of statements.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Binds a statement, by its index, to the present content of the database.
    pub(crate) fn prepare(&self, index: usize) -> Result<Prepared<'_>, String> {
        let mut handle = null_mut();
        let (connection, f) = (self.connection, self.connection.functions());
        if index >= self.count {
            return Err("there is no such statement".to_owned());
        }
        let index = u64::try_from(index).unwrap_or(u64::MAX);
        // SAFETY: the statement is one of those that were extracted, and they live as long as
        // `self`. A prepared statement is destroyed also where it failed (`duckdb.h`), by the drop
        // of `prepared`; its message is copied before.
        unsafe {
            let state =
                (f.prepare_extracted_statement)(connection.handle, self.handle, index, &mut handle);
            let prepared = Prepared { connection, handle };
            match state {
                SUCCESS => Ok(prepared),
                _ => Err(text((f.prepare_error)(handle))),
            }
        }
    }
}

impl Prepared<'_> {
    /// Returns the number of its kind (`duckdb_statement_type`).
    pub(crate) fn kind(&self) -> u32 {
        // SAFETY: the statement was prepared with success.
        let kind = unsafe { (self.connection.functions().prepared_statement_type)(self.handle) };
        u32::try_from(kind).unwrap_or(0)
    }

    /// Returns the names of its parameters, in the order of their indexes, which begin at 1.
    pub(crate) fn parameters(&self) -> Vec<String> {
        let f = self.connection.functions();
        // SAFETY: the statement was prepared with success. A name is freed as `duckdb.h` says.
        unsafe {
            let count = (f.nparams)(self.handle);
            let name = |index| {
                let name = (f.parameter_name)(self.handle, index);
                if name.is_null() {
                    return index.to_string();
                }
                let copied = text(name);
                (f.free)(name.cast_mut().cast());
                copied
            };
            (1..=count).map(name).collect()
        }
    }

    /// Sets the parameter with this index to a value; returns whether DuckDB takes it.
    pub(crate) fn bind(&self, index: usize, value: &Parameter) -> bool {
        let f = self.connection.functions();
        let Ok(index) = u64::try_from(index) else { return false };
        // SAFETY: the statement was prepared with success; a text is copied during the call (`duckdb.h`).
        let state = unsafe {
            match value {
                Parameter::Null => (f.bind_null)(self.handle, index),
                Parameter::Flag(flag) => (f.bind_boolean)(self.handle, index, *flag),
                Parameter::Text(text) => {
                    let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
                    (f.bind_varchar_length)(self.handle, index, text.as_ptr().cast(), length)
                }
                Parameter::Number(spelling) => match Number::new(spelling) {
                    None => return false,
                    Some(Number::Small(value)) => (f.bind_int64)(self.handle, index, value),
                    Some(Number::Large(value)) => {
                        (f.bind_hugeint)(self.handle, index, HugeInt::from(value))
                    }
                    Some(Number::Decimal { width, scale, value }) => {
                        let decimal = Decimal { width, scale, value: HugeInt::from(value) };
                        (f.bind_decimal)(self.handle, index, decimal)
                    }
                    Some(Number::Double(value)) => (f.bind_double)(self.handle, index, value),
                },
            }
        };
        state == SUCCESS
    }

    /// Starts it. Its rows are read from the result.
    pub(crate) fn execute(&self) -> Result<Rows<'_>, String> {
        let raw = RawResult {
            deprecated: [0; 3],
            deprecated_pointers: [null_mut(); 2],
            internal_data: null_mut(),
        };
        let mut rows = Rows { connection: self.connection, raw };
        let f = self.connection.functions();
        // SAFETY: the statement was prepared with success. The result is destroyed also where it
        // failed (`duckdb.h`), by the drop of `rows`; its message is copied before.
        unsafe {
            match (f.execute_prepared_streaming)(self.handle, &mut rows.raw) {
                SUCCESS => Ok(rows),
                _ => Err(text((f.result_error)(&mut rows.raw))),
            }
        }
    }
}

impl Rows<'_> {
    /// Reads all rows, and returns their number: those of a query, or those that a statement changed.
    pub(crate) fn count(mut self) -> Result<u64, String> {
        let f = self.connection.functions();
        // SAFETY: the result is one of a statement that was executed with success.
        let kind = unsafe { (f.result_return_type)(self.raw) };
        let given = self.each_chunk(|_| {})?;
        Ok(match kind {
            CHANGED_ROWS => {
                // SAFETY: as above.
                unsafe { (f.rows_changed)(&mut self.raw) }
            }
            QUERY_RESULT => given,
            _ => 0,
        })
    }

    /// Reads all rows, whose columns all have to be of the type `VARCHAR`.
    pub(crate) fn rows(mut self) -> Result<Vec<Vec<Option<String>>>, String> {
        let mut rows = Vec::new();
        let f = self.connection.functions();
        self.each_chunk(|chunk| {
            // SAFETY: the chunk is alive during this call, and its columns are of
            // `duckdb_string_t`, as the caller says, with as many values as it has rows. Each that
            // is not NULL is read where it lies, and copied.
            unsafe {
                let size = usize::try_from((f.data_chunk_get_size)(chunk)).unwrap_or(0);
                let first = rows.len();
                rows.resize_with(first + size, Vec::new);
                for column in 0..(f.data_chunk_get_column_count)(chunk) {
                    let vector = (f.data_chunk_get_vector)(chunk, column);
                    let (data, valid) =
                        ((f.vector_get_data)(vector), (f.vector_get_validity)(vector));
                    for (row, at) in rows.iter_mut().skip(first).zip(0..) {
                        let is_valid = valid.is_null() || (f.validity_row_is_valid)(valid, at);
                        let at = usize::try_from(at).unwrap_or(0);
                        row.push(is_valid.then(|| value_text(f, data.add(at))));
                    }
                }
            }
        })?;
        Ok(rows)
    }

    /// Computes and reads all chunks; returns the number of rows.
    fn each_chunk(&mut self, mut read: impl FnMut(Handle)) -> Result<u64, String> {
        let f = self.connection.functions();
        let mut rows = 0u64;
        loop {
            // SAFETY: the result is one of a statement that was executed with success; each chunk
            // is destroyed after it was read. No chunk means the end, or an error, whose message
            // the result holds.
            unsafe {
                let mut chunk = (f.fetch_chunk)(self.raw);
                if chunk.is_null() {
                    let message = (f.result_error)(&mut self.raw);
                    return if message.is_null() { Ok(rows) } else { Err(text(message)) };
                }
                let size = (f.data_chunk_get_size)(chunk);
                read(chunk);
                (f.destroy_data_chunk)(&mut chunk);
                if size == 0 {
                    return Ok(rows);
                }
                rows = rows.saturating_add(size);
            }
        }
    }
}

impl From<i128> for HugeInt {
    fn from(value: i128) -> Self {
        let [lower, upper] =
            [value, value >> 64].map(|half| (half & i128::from(u64::MAX)).to_le_bytes());
        let low = |bytes: [u8; 16]| {
            let [a, b, c, d, e, f, g, h, ..] = bytes;
            [a, b, c, d, e, f, g, h]
        };
        Self { lower: u64::from_le_bytes(low(lower)), upper: i64::from_le_bytes(low(upper)) }
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        // SAFETY: it is open, and no connection to it is left: they borrow it.
        unsafe { (self.duckdb.functions.close)(&mut self.handle) }
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        // SAFETY: it is connected, and nothing of it is left: all borrows it.
        unsafe { (self.functions().disconnect)(&mut self.handle) }
    }
}

impl Drop for Statements<'_> {
    fn drop(&mut self) {
        // SAFETY: destroyed once; `duckdb.h` allows null.
        unsafe { (self.connection.functions().destroy_extracted)(&mut self.handle) }
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        // SAFETY: destroyed once, after each result of it.
        unsafe { (self.connection.functions().destroy_prepare)(&mut self.handle) }
    }
}

impl Drop for Rows<'_> {
    fn drop(&mut self) {
        // SAFETY: destroyed once.
        unsafe { (self.connection.functions().destroy_result)(&mut self.raw) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-11: a number of 128 bits is given to DuckDB in its two halves.
    #[test]
    fn a_large_number_is_split_into_its_halves() {
        for (value, lower, upper) in
            [(0, 0, 0), (-1, u64::MAX, -1), (1 << 64, 0, 1), (i128::MIN, 0, i64::MIN), (5, 5, 0)]
        {
            let HugeInt { lower: low, upper: high } = HugeInt::from(value);
            assert_eq!((low, high), (lower, upper), "{value}");
        }
    }
}
