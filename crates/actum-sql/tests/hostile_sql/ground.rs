//! The environment of an attack: a private directory with a database, and outside files that the attack tries to reach.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actum_sandbox::{Helper, HostReport};
use actum_sql::{Library, Report, SqlError, SqlLimits, Step, run};
use serde_json::json;

use crate::attack::CANARY;
use crate::worker::Walls;

/// File name of the database.
const DATABASE: &str = "shop.duckdb";
/// File name for the rows of the last statement, which here is a link to the secret file.
const ROWS: &str = "rows.csv";

/// Result of running an attack.
pub(crate) type End = Result<Report, SqlError>;

/// Limits of a step.
pub(crate) const LIMITS: SqlLimits = SqlLimits {
    time: Duration::from_secs(60),
    memory_bytes_max: 256 << 20,
    spill_bytes_max: 64 << 20,
    database_bytes_max: 64 << 20,
    threads: 2,
};

/// Resources that all attacks share.
pub(crate) struct Shared {
    library: Library,
    host: HostReport,
    /// Target files, and the database that is copied for each attack.
    files: tempfile::TempDir,
}

/// Environment of one attack.
pub(crate) struct Ground {
    directory: tempfile::TempDir,
    outside: tempfile::TempDir,
    server: Option<u16>,
}

/// Number of requests received by each server, indexed by port.
static ASKED: [AtomicUsize; 65_536] = [const { AtomicUsize::new(0) }; 65_536];

fn real_worker() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_actum-sql-worker"))
}

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

impl Shared {
    /// Returns the instance that is shared within this process.
    pub(crate) fn get() -> &'static Self {
        static SHARED: OnceLock<Shared> = OnceLock::new();
        SHARED.get_or_init(Self::new)
    }

    fn new() -> Self {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("tools");
        let library = Library::find(&home, None).expect("`cargo xtask test` installs DuckDB");
        let host = HostReport::probe(&Helper::at(real_worker()));
        let shared = Self { library, host, files: temporary() };
        let files = shared.files.path();
        let make = |database: &str, query: String| {
            let limits = LIMITS;
            let ended = shared.start(real_worker(), files, database, &query, limits, None).unwrap();
            assert!(matches!(ended, Report::Done(_)), "{ended:?}");
        };
        make(
            DATABASE,
            "CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR, balance DECIMAL(9,2));
             INSERT INTO customer VALUES (1, 'Ada', 10.50), (2, 'Bo', 0), (3, 'Cy', NULL)"
                .to_owned(),
        );
        make("foreign.duckdb", format!("CREATE TABLE t AS SELECT '{CANARY}' AS c"));
        for (name, text) in [
            ("secret.csv", format!("a,b\n{CANARY},{CANARY}\n")),
            ("foreign.duckdb.duckdb_extension", "no extension ".repeat(100)),
            ("secret.json", format!("{{\"a\": \"{CANARY}\"}}\n")),
        ] {
            std::fs::write(files.join(name), text).unwrap();
        }
        // Create an exported database and a Parquet file.
        let exported = files.join("exported");
        std::fs::create_dir(&exported).unwrap();
        let schema = format!("CREATE TABLE loot AS SELECT '{CANARY}' AS c;\n");
        std::fs::write(exported.join("schema.sql"), schema).unwrap();
        std::fs::write(exported.join("load.sql"), "").unwrap();
        let parquet = format!(
            "COPY (SELECT '{CANARY}' AS \"{CANARY}\") TO '{}' (FORMAT parquet, KV_METADATA {{k: '{CANARY}'}})",
            files.join("secret.parquet").display()
        );
        let ground = Ground::new(&shared, false);
        let made = ground.unconfined(&shared, Walls { list: false, lock: false }, &parquet);
        assert!(matches!(made, Ok(Report::Done(_))), "{made:?}");
        shared
    }

    fn start(
        &self,
        program: &Path,
        directory: &Path,
        database: &str,
        query: &str,
        limits: SqlLimits,
        save_results_to: Option<&str>,
    ) -> End {
        let parameters = BTreeMap::new();
        let library = &self.library;
        let step = Step {
            library,
            directory,
            database,
            query,
            parameters: &parameters,
            save_results_to,
            compares: false,
            limits,
        };
        let helper = Helper::at(real_worker());
        run((&helper, &self.host, program), &step, None).map(|ran| ran.report)
    }
}

impl Ground {
    /// Creates an environment, with a server if `server` is true.
    pub(crate) fn new(shared: &Shared, server: bool) -> Self {
        let (directory, outside) = (temporary(), temporary());
        std::fs::copy(shared.files.path().join(DATABASE), directory.path().join(DATABASE)).unwrap();
        for entry in std::fs::read_dir(shared.files.path()).unwrap() {
            let entry = entry.unwrap();
            let place = outside.path().join(entry.file_name());
            // The engine does not treat hard links as links.
            if entry.file_type().unwrap().is_dir() {
                std::fs::create_dir(&place).unwrap();
                for file in std::fs::read_dir(entry.path()).unwrap() {
                    let file = file.unwrap();
                    std::fs::hard_link(file.path(), place.join(file.file_name())).unwrap();
                }
            } else {
                std::fs::hard_link(entry.path(), &place).unwrap();
            }
        }
        let server = server.then(serve);
        Self { directory, outside, server }
    }

    /// Replaces the names in braces with the paths of this environment.
    pub(crate) fn fill(&self, text: &str) -> String {
        let outside = self.outside.path().to_str().unwrap();
        let parent = Path::new(outside).file_name().unwrap().to_str().unwrap();
        text.replace("{secret}", &format!("{outside}/secret.csv"))
            .replace("{json}", &format!("{outside}/secret.json"))
            .replace("{parquet}", &format!("{outside}/secret.parquet"))
            .replace("{foreign}", &format!("{outside}/foreign.duckdb"))
            .replace("{exported}", &format!("{outside}/exported"))
            .replace("{relative}", &format!("../{parent}/secret.csv"))
            .replace("{outside}", outside)
            .replace("{dir}", self.directory.path().to_str().unwrap())
            .replace("{out}", self.out().to_str().unwrap())
            .replace("{port}", &self.server.unwrap_or_default().to_string())
    }

    /// Returns the path of an outside file that no attack may create.
    pub(crate) fn out(&self) -> PathBuf {
        self.outside.path().join("out.json")
    }

    /// Returns whether the server received a request.
    pub(crate) fn was_asked(&self) -> bool {
        self.server.is_some_and(|port| ASKED[usize::from(port)].load(Ordering::SeqCst) > 0)
    }

    /// Replaces the result file with a link to the secret file, which a step itself would never do.
    pub(crate) fn link_rows(&self) {
        let link = self.directory.path().join(ROWS);
        std::os::unix::fs::symlink(self.outside.path().join("secret.csv"), link).unwrap();
    }

    /// Runs statements exactly as a step does.
    pub(crate) fn as_a_step(&self, shared: &Shared, query: &str, limits: SqlLimits) -> End {
        shared.start(real_worker(), self.directory.path(), DATABASE, query, limits, self.rows())
    }

    /// Runs statements in the sandbox, with the other boundaries as given.
    pub(crate) fn confined(
        &self,
        shared: &Shared,
        walls: Walls,
        query: &str,
        limits: SqlLimits,
    ) -> End {
        let program = std::env::current_exe().unwrap();
        let query = walls.header(query);
        shared.start(&program, self.directory.path(), DATABASE, &query, limits, self.rows())
    }

    /// Runs statements without the sandbox, in a process of this user.
    pub(crate) fn unconfined(&self, shared: &Shared, walls: Walls, query: &str) -> End {
        let directory = self.directory.path();
        let rows = self.rows().map(|name| directory.join(name));
        let job = json!({
            "library": shared.library.path(),
            "library_sha256": shared.library.sha256(),
            "database": directory.join(DATABASE),
            "query": walls.header(query),
            "parameters": {},
            "save_results_to": rows,
            "spill": directory.join("spill"),
            "spill_bytes_max": LIMITS.spill_bytes_max,
            "memory_bytes_max": LIMITS.memory_bytes_max,
            "threads": 2,
            "compares": false,
            "time_milliseconds": 60_000,
        });
        let job = json!({ "step": job });
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["actum-sql-worker", CANARY])
            .current_dir(directory)
            .env_clear()
            .env("HOME", directory)
            .env("CANARY", CANARY)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(job.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        serde_json::from_slice(&output.stdout).map_err(|_| SqlError::Ended { signal: None })
    }

    fn rows(&self) -> Option<&'static str> {
        self.directory.path().join(ROWS).is_symlink().then_some(ROWS)
    }
}

/// Starts a server that counts requests and answers each with an error. It runs until this process exits.
fn serve() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    ASKED[usize::from(port)].store(0, Ordering::SeqCst);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            ASKED[usize::from(port)].fetch_add(1, Ordering::SeqCst);
            answer(stream);
        }
    });
    port
}

/// Answers one request, and ignores clients that disconnect.
fn answer(stream: std::io::Result<TcpStream>) {
    if let Ok(mut stream) = stream {
        let mut request = [0; 4096];
        let asked = stream.read(&mut request);
        let answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        drop(asked.and_then(|_| stream.write_all(answer)));
    }
}
