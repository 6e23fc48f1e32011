//! Bindings to the C API of DuckDB (`duckdb.h`), which is loaded from a file. This is the only module of the crate with
//! `unsafe` code.
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

/// Interval at which a statement that continues after its deadline is interrupted again.
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

/// Declares the C functions that this module uses, and generates the code that loads them from the library.
macro_rules! functions {
    ($($name:ident($($of:ty),*) $(-> $gives:ty)?;)*) => {
        /// Functions of the DuckDB library, named without their prefix `duckdb_`.
        struct Functions {
            $($name: unsafe extern "C" fn($($of),*) $(-> $gives)?,)*
        }

        impl Functions {
            /// Looks up every function in the library.
            ///
            /// # Safety
            /// The library must be DuckDB, and its functions must have the types declared here (`duckdb.h`).
            unsafe fn find(loaded: &Loaded) -> Result<Self, String> {
                // SAFETY: guaranteed by the caller.
                unsafe {
                    Ok(Self {
                        $($name: *loaded.get(concat!("duckdb_", stringify!($name), "\0").as_bytes()).map_err(|_| {
                            let name = concat!("duckdb_", stringify!($name));
                            format!("the file is not DuckDB or is too old: it has no function `{name}`")
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

/// Loaded DuckDB library.
pub(crate) struct DuckDb {
    functions: Functions,
    /// Handle that keeps the library, and therefore its functions, in memory.
    _loaded: Loaded,
}

/// Open database.
pub(crate) struct Database<'d> {
    duckdb: &'d DuckDb,
    handle: Handle,
}

/// Connection to an open database.
pub(crate) struct Connection<'d> {
    database: &'d Database<'d>,
    handle: Handle,
}

/// Parsed statements of a query.
pub(crate) struct Statements<'c> {
    connection: &'c Connection<'c>,
    handle: Handle,
    count: usize,
}

/// Prepared statement, which is bound to the content of the database.
pub(crate) struct Prepared<'s> {
    connection: &'s Connection<'s>,
    handle: Handle,
}

/// Result of a statement. Its rows may not have been computed yet.
pub(crate) struct Rows<'p> {
    connection: &'p Connection<'p>,
    raw: RawResult,
}

/// Copies a message of the library.
///
/// # Safety
/// `message` must be null or point to a NUL-terminated string that does not change during the call.
unsafe fn text(message: *const c_char) -> String {
    if message.is_null() {
        return "DuckDB gave no reason".to_owned();
    }
    // SAFETY: guaranteed by the caller.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}

/// Copies a string value of a vector.
///
/// # Safety
/// `value` must point to a live `duckdb_string_t`.
unsafe fn value_text(f: &Functions, value: *mut RawString) -> String {
    // SAFETY: guaranteed by the caller. The bytes belong to the value, so they live as long as it does.
    unsafe {
        let length = usize::try_from((f.string_t_length)(value.read())).unwrap_or(0);
        let bytes = std::slice::from_raw_parts((f.string_t_data)(value).cast::<u8>(), length);
        String::from_utf8_lossy(bytes).into_owned()
    }
}

fn no_nul(error: &NulError) -> String {
    format!("the text contains a NUL byte at offset {}", error.nul_position())
}

impl DuckDb {
    /// Loads the library at `path`. The caller must have verified its digest.
    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        // SAFETY: loading runs the initializers of the library. The operator's policy or the table of tested libraries
        // identifies the file by its digest. This process is sandboxed and has no secrets.
        let loaded = unsafe { Loaded::open(Some(path), RTLD_LAZY | RTLD_LOCAL) };
        let loaded = loaded.map_err(|error| error.to_string())?;
        // SAFETY: the digest identifies the library as DuckDB.
        let functions = unsafe { Functions::find(&loaded) }?;
        Ok(Self { functions, _loaded: loaded })
    }

    /// Returns the version of the library, such as `v2.0.1`.
    pub(crate) fn version(&self) -> String {
        // SAFETY: the library returns a static string.
        unsafe { text((self.functions.library_version)()) }
    }

    /// Opens the database at `path` with the given settings.
    pub(crate) fn open(
        &self,
        path: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Database<'_>, String> {
        let f = &self.functions;
        let path = CString::new(OsStr::new(path).as_bytes()).map_err(|error| no_nul(&error))?;
        let mut config = null_mut();
        // SAFETY: the pointers are to local variables, and each string outlives the call that reads it. The
        // configuration is destroyed on every path, and the message is freed as `duckdb.h` requires.
        unsafe {
            if (f.create_config)(&mut config) != SUCCESS {
                return Err("DuckDB failed to allocate its configuration".to_owned());
            }
            for (name, value) in settings {
                let pair = CString::new(*name).and_then(|name| Ok((name, CString::new(*value)?)));
                let set = pair.is_ok_and(|(name, value)| {
                    (f.set_config)(config, name.as_ptr(), value.as_ptr()) == SUCCESS
                });
                if !set {
                    (f.destroy_config)(&mut config);
                    return Err(format!("DuckDB rejected the setting `{name}`"));
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
    /// Opens a connection to the database.
    pub(crate) fn connect(&self) -> Result<Connection<'_>, String> {
        let mut handle = null_mut();
        // SAFETY: the database is open, and `handle` is a local variable.
        match unsafe { (self.duckdb.functions.connect)(self.handle, &mut handle) } {
            SUCCESS => Ok(Connection { database: self, handle }),
            _ => Err("DuckDB refused the connection".to_owned()),
        }
    }
}

impl Connection<'_> {
    fn functions(&self) -> &Functions {
        &self.database.duckdb.functions
    }

    /// Runs a single trusted statement, and returns the number of its rows.
    pub(crate) fn command(&self, text: &str) -> Result<u64, String> {
        self.extract(text)?.prepare(0)?.execute()?.count()
    }

    /// Runs `work`, and interrupts the statements of this connection once the deadline has passed.
    ///
    /// # Errors
    /// Returns an error if the thread for the interrupts cannot be started. In that case, `work` is not run.
    pub(crate) fn until<T>(
        &self,
        deadline: Instant,
        work: impl FnOnce() -> T,
    ) -> Result<T, String> {
        /// Connection whose statements another thread may interrupt.
        struct Interrupt(unsafe extern "C" fn(Handle), Handle);
        // SAFETY: `duckdb_interrupt` may be called by any thread while the connection is open, and this type calls no
        // other function.
        unsafe impl Send for Interrupt {}
        impl Interrupt {
            fn call(&self) {
                // SAFETY: the thread ends with its scope, which is before the connection is closed.
                unsafe { (self.0)(self.1) }
            }
        }
        let interrupt = Interrupt(self.functions().interrupt, self.handle);
        scope(|scope| {
            let (done, ended) = channel::<()>();
            let watch = move || {
                let mut left = deadline.saturating_duration_since(Instant::now());
                // A statement that starts after an interrupt clears it, so the interrupt is repeated.
                while ended.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                    interrupt.call();
                    left = INTERVAL;
                }
            };
            let started = Builder::new().spawn_scoped(scope, watch);
            started.map_err(|error| format!("failed to start a thread: {error}"))?;
            let result = work();
            drop(done);
            Ok(result)
        })
    }

    /// Parses a query into its statements.
    pub(crate) fn extract(&self, query: &str) -> Result<Statements<'_>, String> {
        let query = CString::new(query).map_err(|error| no_nul(&error))?;
        let mut handle = null_mut();
        let f = self.functions();
        // SAFETY: connection and query outlive the call. The extracted statements are destroyed on drop, even if their
        // number is zero, as `duckdb.h` requires.
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
    /// Returns the number of statements.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Prepares the statement with the given index, and binds it to the current content of the database.
    pub(crate) fn prepare(&self, index: usize) -> Result<Prepared<'_>, String> {
        let mut handle = null_mut();
        let (connection, f) = (self.connection, self.connection.functions());
        if index >= self.count {
            return Err("there is no statement with this index".to_owned());
        }
        let index = u64::try_from(index).unwrap_or(u64::MAX);
        // SAFETY: the index is valid, and the extracted statements live as long as `self`. A prepared statement must be
        // destroyed even if preparing it failed (`duckdb.h`). Dropping `prepared` does that, after the message was
        // copied.
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
    /// Returns the kind of the statement as a number (`duckdb_statement_type`).
    pub(crate) fn kind(&self) -> u32 {
        // SAFETY: the statement was prepared successfully.
        let kind = unsafe { (self.connection.functions().prepared_statement_type)(self.handle) };
        u32::try_from(kind).unwrap_or(0)
    }

    /// Returns the names of the statement's parameters, in the order of their indexes. The first index is 1, and a
    /// parameter without a name is represented by its index.
    pub(crate) fn parameters(&self) -> Vec<String> {
        let f = self.connection.functions();
        // SAFETY: the statement was prepared successfully, and each name is freed as `duckdb.h` requires.
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

    /// Binds a value to the parameter with the given index, and returns whether DuckDB accepts it.
    pub(crate) fn bind(&self, index: usize, value: &Parameter) -> bool {
        let f = self.connection.functions();
        let Ok(index) = u64::try_from(index) else { return false };
        // SAFETY: the statement was prepared successfully, and DuckDB copies a text during the call (`duckdb.h`).
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

    /// Starts the statement. Its rows must be read from the result.
    pub(crate) fn execute(&self) -> Result<Rows<'_>, String> {
        let raw = RawResult {
            deprecated: [0; 3],
            deprecated_pointers: [null_mut(); 2],
            internal_data: null_mut(),
        };
        let mut rows = Rows { connection: self.connection, raw };
        let f = self.connection.functions();
        // SAFETY: the statement was prepared successfully. Its result must be destroyed even if execution failed
        // (`duckdb.h`). Dropping `rows` does that, after the message was copied.
        unsafe {
            match (f.execute_prepared_streaming)(self.handle, &mut rows.raw) {
                SUCCESS => Ok(rows),
                _ => Err(text((f.result_error)(&mut rows.raw))),
            }
        }
    }
}

impl Rows<'_> {
    /// Reads all rows, and returns the number of rows that a query returned or a statement changed.
    pub(crate) fn count(mut self) -> Result<u64, String> {
        let f = self.connection.functions();
        // SAFETY: the result belongs to a statement that was executed successfully.
        let kind = unsafe { (f.result_return_type)(self.raw) };
        let given = self.each_chunk(|_| {})?;
        Ok(match kind {
            CHANGED_ROWS => {
                // SAFETY: the result is still alive, because it is destroyed on drop.
                unsafe { (f.rows_changed)(&mut self.raw) }
            }
            QUERY_RESULT => given,
            _ => 0,
        })
    }

    /// Reads and returns all rows. Every column must be of type `VARCHAR`.
    pub(crate) fn rows(mut self) -> Result<Vec<Vec<Option<String>>>, String> {
        let mut rows = Vec::new();
        let f = self.connection.functions();
        self.each_chunk(|chunk| {
            // SAFETY: the chunk is alive during this call. The caller guarantees that its columns consist of
            // `duckdb_string_t`, with one value for each row. Each value that is not NULL is copied from its place in
            // the vector.
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

    /// Computes all rows chunk by chunk, passes each chunk to `read`, and returns the number of rows.
    fn each_chunk(&mut self, mut read: impl FnMut(Handle)) -> Result<u64, String> {
        let f = self.connection.functions();
        let mut rows = 0u64;
        loop {
            // SAFETY: the result belongs to a statement that was executed successfully, and each chunk is destroyed
            // after it was read. A null chunk means the end of the rows or an error, whose message is in the result.
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
        // SAFETY: the database is open, and no connection is left because connections borrow it.
        unsafe { (self.duckdb.functions.close)(&mut self.handle) }
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        // SAFETY: the connection is open, and nothing that borrows it is left.
        unsafe { (self.functions().disconnect)(&mut self.handle) }
    }
}

impl Drop for Statements<'_> {
    fn drop(&mut self) {
        // SAFETY: the statements are destroyed only once, and `duckdb.h` allows a null handle.
        unsafe { (self.connection.functions().destroy_extracted)(&mut self.handle) }
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        // SAFETY: the prepared statement is destroyed only once, after all of its results.
        unsafe { (self.connection.functions().destroy_prepare)(&mut self.handle) }
    }
}

impl Drop for Rows<'_> {
    fn drop(&mut self) {
        // SAFETY: the result is destroyed only once.
        unsafe { (self.connection.functions().destroy_result)(&mut self.raw) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-11: a 128-bit number is passed to DuckDB as two halves.
    #[test]
    fn large_number_is_split_into_two_halves() {
        for (value, lower, upper) in
            [(0, 0, 0), (-1, u64::MAX, -1), (1 << 64, 0, 1), (i128::MIN, 0, i64::MIN), (5, 5, 0)]
        {
            let HugeInt { lower: low, upper: high } = HugeInt::from(value);
            assert_eq!((low, high), (lower, upper), "{value}");
        }
    }
}
