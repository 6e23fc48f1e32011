//! Pipelines declared by an operator (EX-9).

use actum_core::json::Value;
use actum_core::{Budget, Digest, RelPath, RiskTier, Scope};
use actum_gate::policy::DeclaredPipeline;
use actum_gate::{Bundle, Case, NoAccess, Policy, PolicyFile, Verdict, decide};
use actum_record::receipt::ExternalPipeline;

use crate::material::case;

fn read(text: &str) -> Result<Vec<DeclaredPipeline>, String> {
    let file = PolicyFile::read(format!("version = 1\n{text}").as_bytes());
    file.map(|file| file.pipelines).map_err(|error| error.to_string())
}

fn one(text: &str) -> DeclaredPipeline {
    read(&format!("[[pipeline]]\nname = \"p\"\n{text}")).unwrap().remove(0)
}

fn steps(pipeline: &DeclaredPipeline, parameters: &str) -> Result<Vec<Vec<String>>, String> {
    let value = Value::read(parameters.as_bytes()).unwrap();
    pipeline.steps_with(Some(&value)).map_err(|error| error.to_string())
}

/// EX-9: a parameter is always one argument, so its value cannot add an argument, an option or a shell command.
#[test]
fn a_parameter_is_one_whole_argument() {
    let pipeline = one("steps = [[\"make\", \"{what}\", \"a{what}b\", \"{}\"]]\noutputs = []\n\
         [[pipeline.parameter]]\nname = \"what\"\n");
    let expected =
        |what: &str| Ok(vec![["make", what, "a{what}b", "{}"].map(str::to_owned).to_vec()]);
    assert_eq!(steps(&pipeline, r#"{"what": "a b; $(rm) \"c\""}"#), expected("a b; $(rm) \"c\""));
    assert_eq!(steps(&pipeline, r#"{"what": "{what}"}"#), expected("{what}"));
    for refused in [r#""--eval=x""#, r#""a\nb""#, r#""\u001b[2J""#, "7", "null", r#"["x"]"#] {
        assert!(steps(&pipeline, &format!("{{\"what\": {refused}}}")).is_err(), "{refused}");
    }
    let long = format!("{{\"what\": \"{}\"}}", "x".repeat(201));
    assert!(steps(&pipeline, &long).unwrap_err().contains("at most 200 characters"));
    assert!(steps(&pipeline, "{}").unwrap_err().contains("requires the parameter `what`"));
}

/// EX-9: integers and fixed texts are compared with the declaration, and a default replaces a missing value.
#[test]
fn parameter_accepts_only_its_declared_values() {
    let pipeline = one("steps = [[\"x\", \"{n}\", \"{word}\"]]\noutputs = []\n\
         [[pipeline.parameter]]\nname = \"n\"\nmin = -1\nmax = 3\ndefault = 2\n\
         [[pipeline.parameter]]\nname = \"word\"\none_of = [\"-a\", \"b\"]\n");
    let last = |parameters| steps(&pipeline, parameters).map(|steps| steps[0][1..].join(" "));
    assert_eq!(last(r#"{"word": "-a"}"#), Ok("2 -a".to_owned()));
    assert_eq!(last(r#"{"word": "b", "n": -1}"#), Ok("-1 b".to_owned()));
    for refused in [r#"{"word": "c"}"#, r#"{"word": "b", "n": 4}"#, r#"{"word": "b", "n": 1e0}"#] {
        assert!(last(refused).is_err(), "{refused}");
    }
    assert!(
        last(r#"{"word": "b", "m": 1}"#).unwrap_err().contains("valid parameters: `n`, `word`")
    );
}

/// EX-8, EX-9: two pipelines are independent if the outputs of each overlap neither outputs nor inputs of the other.
#[test]
fn pipelines_are_independent_if_their_paths_cannot_overlap() {
    let of = |inputs: &str, outputs: &str| {
        one(&format!("steps = [[\"x\"]]\n{inputs}\noutputs = [{outputs}]\n"))
    };
    let a = of("inputs = [\"a/**\"]", "\"a/out/**\"");
    let b = of("inputs = [\"b/**\"]", "\"b/out/**\"");
    let all = of("", "\"c/**\"");
    let below = of("inputs = [\"d\"]", "\"a/out/x\"");
    let anywhere = of("inputs = [\"e\"]", "\"**/*.o\"");
    let silent = of("", "");
    for (one, other, expected) in [
        (&a, &b, true),
        (&a, &all, false),
        (&a, &below, false),
        (&a, &anywhere, false),
        (&a, &silent, false),
        (&silent, &silent, true),
        (&a, &a, false),
    ] {
        assert_eq!(one.is_independent_of(other), expected);
        assert_eq!(other.is_independent_of(one), expected);
    }
    let path = |text: &str| RelPath::new(text).unwrap();
    assert!(a.may_change(&path("a/out/deep/x")) && !a.may_change(&path("a/in")));
    assert!(
        a.depends_on(&path("a/in")) && !a.depends_on(&path("b/in")) && all.depends_on(&path("b"))
    );
}

/// EX-9: the error for a contradictory declaration contains its line.
#[test]
fn invalid_pipeline_declaration_is_rejected() {
    let head = "[[pipeline]]\nname = \"p\"\n";
    let parameter = "[[pipeline.parameter]]\nname = \"x\"\n";
    for (text, expected) in [
        ("[[pipeline]]\nsteps = [[\"x\"]]\noutputs = []\n".to_owned(), "name"),
        (format!("{head}outputs = []\n"), "steps"),
        (format!("{head}steps = [[\"x\"]]\n"), "outputs"),
        (format!("{head}steps = []\noutputs = []\n"), "1 to 100 steps"),
        (format!("{head}steps = [[]]\noutputs = []\n"), "must start with a program"),
        (format!("{head}steps = [\"make all\"]\noutputs = []\n"), "a list of strings"),
        (format!("{head}steps = [[\"x\", \"{{y}}\"]]\noutputs = []\n"), "the parameter `y`"),
        (format!("{head}steps = [[\"{{x}}\"]]\noutputs = []\n{parameter}"), "must be a program"),
        (
            format!(
                "{head}steps = [[\"x\", \"{{n}}\"]]\noutputs = []\n[[pipeline.parameter]]\nname = \"n\"\nmin = 0\nmax = 9007199254740992\n"
            ),
            "JSON represents exactly",
        ),
        (format!("{head}steps = [[\"y\"]]\noutputs = []\n{parameter}"), "has no effect"),
        (format!("{head}steps = [[\"x\"]]\noutputs = [\"/etc\"]\n"), "absolute"),
        (format!("{head}steps = [[\"x\"]]\noutputs = []\ncwd = \"..\"\n"), "`..`"),
        (format!("{head}steps = [[\"x\"]]\noutputs = []\ntimeout_seconds = 3601\n"), "1 to 3600"),
        (format!("{head}steps = [[\"x\"]]\noutputs = []\nshell = true\n"), "shell"),
        (
            format!(
                "{head}steps = [[\"x\"]]\noutputs = []\n{head}steps = [[\"x\"]]\noutputs = []\n"
            ),
            "another pipeline has the same name",
        ),
        (
            format!("{head}steps = [[\"y\", \"{{x}}\"]]\noutputs = []\n{parameter}min = 1\n"),
            "`min` and `max`",
        ),
        (
            format!(
                "{head}steps = [[\"y\", \"{{x}}\"]]\noutputs = []\n{parameter}default = \"-y\"\n"
            ),
            "does not start with `-`",
        ),
    ] {
        let error = read(&text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// EX-9: an external pipeline has no outputs or inputs. Its declaration is marked as external, so its digest in the ledger is
/// different.
#[test]
fn an_external_pipeline_declares_neither_outputs_nor_inputs() {
    let inside = one("steps = [[\"x\"]]\noutputs = []\n");
    let external = one("steps = [[\"x\"]]\nexternal = true\n");
    assert!(external.external && external.outputs.is_empty() && !inside.external);
    assert_eq!(external, one("steps = [[\"x\"]]\nexternal = true\noutputs = []\n"));
    assert_eq!(inside, one("steps = [[\"x\"]]\nexternal = false\noutputs = []\n"));
    assert_ne!(inside.digest().unwrap(), external.digest().unwrap());
    for wrong in ["outputs = [\"a\"]", "inputs = []", "external = 1"] {
        let text = format!("steps = [[\"x\"]]\nexternal = true\n{wrong}\n");
        assert!(read(&format!("[[pipeline]]\nname = \"p\"\n{text}")).is_err(), "{wrong}");
    }
    let missing = read("[[pipeline]]\nname = \"p\"\nsteps = [[\"x\"]]\n").unwrap_err();
    assert!(missing.contains("outputs"), "{missing}");
}

/// EX-9, AA-5, D-2: a plan that runs an external pipeline is R4 and needs an approval, even if it changes no files.
#[test]
fn a_plan_with_an_external_pipeline_needs_an_approval() {
    let policy = Policy::default();
    let pipeline = ExternalPipeline {
        action: "deploy".to_owned(),
        declaration: Digest::of(b"declaration"),
        env: Vec::new(),
        name: "push".to_owned(),
        steps: vec![vec!["git".to_owned(), "push".to_owned()]],
    };
    let judged = |external: Vec<ExternalPipeline>| {
        let case = case(Scope::everything(), Budget::unlimited(), Vec::new());
        let bytes = policy.to_vec().unwrap();
        let bundle = Bundle::new(Digest::of(&bytes), Case { external, ..case });
        assert_eq!(Bundle::read(&bundle.to_vec().unwrap()).unwrap(), bundle);
        decide(&bundle, &policy, &NoAccess)
    };
    let without = judged(Vec::new());
    assert_eq!((without.tier, without.verdict), (RiskTier::R0, Verdict::Allow));
    let with = judged(vec![pipeline]);
    assert_eq!((with.tier, with.verdict), (RiskTier::R4, Verdict::NeedsApproval));
    let grounds: Vec<_> = with.gates.iter().map(|gate| gate.ground.to_string()).collect();
    let expected =
        "R4: the plan runs `push` outside the workspace, where its effects cannot be undone";
    assert!(grounds.iter().any(|ground| ground == expected), "{grounds:?}");
}
