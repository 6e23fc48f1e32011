//! The order of actions, compared with a slow but simple model.

use actum_task::{ErrorCode, GraphError, GraphProblem, TaskPlan};
use proptest::prelude::*;
use serde_json::json;

/// Builds a plan whose actions have these ids and dependencies.
pub(crate) fn plan(actions: &[(&str, &[&str])]) -> TaskPlan {
    let actions: Vec<_> = actions
        .iter()
        .enumerate()
        .map(|(index, (id, depends_on))| {
            json!({"action_id": id, "action_type": "FILE_DELETE", "target": format!("f{index}"),
                "depends_on": depends_on})
        })
        .collect();
    let plan = json!({"plan_id": "p", "action_plan": actions}).to_string();
    TaskPlan::read(plan.as_bytes()).unwrap()
}

fn refused(actions: &[(&str, &[&str])]) -> GraphError {
    plan(actions).graph().unwrap_err()
}

fn problems(actions: &[(&str, &[&str])]) -> Vec<(ErrorCode, String, String)> {
    let each = refused(actions).problems.into_iter();
    each.map(|it| (it.code(), it.path().to_string(), it.to_string())).collect()
}

/// EX-8
#[test]
fn actions_are_ordered_by_dependencies_then_plan_order() {
    let plan =
        plan(&[("d", &["b", "c"]), ("a", &[]), ("c", &["a"]), ("b", &["a", "a"]), ("e", &[])]);
    let graph = plan.graph().unwrap();
    assert_eq!(graph.order(), [1, 2, 3, 0, 4]);
    assert_eq!(graph.waits_for(0), [2, 3]);
    assert_eq!(graph.waits_for(3), [1]);
    assert_eq!(graph.dependents(1), [2, 3, 0]);
    assert_eq!(graph.dependents(4), [0usize; 0]);
}

/// EX-8
#[test]
fn unorderable_plan_is_rejected_with_its_action_ids() {
    assert_eq!(
        problems(&[("a", &[]), ("b", &[]), ("a", &[])]),
        [(
            ErrorCode::DuplicateActionId,
            "action_plan[2].action_id".to_owned(),
            "two actions have the id `a`; give each action a unique id".to_owned()
        )]
    );
    assert_eq!(problems(&[("make_it", &[]), ("b", &["make_it", "makeit"]), ("c", &["zzz"])]), [
        (
            ErrorCode::UnknownDependency,
            "action_plan[1].depends_on[1]".to_owned(),
            "the action `b` depends on `makeit`, which is not in the plan (did you mean `make_it`?)"
                .to_owned()
        ),
        (
            ErrorCode::UnknownDependency,
            "action_plan[2].depends_on[0]".to_owned(),
            "the action `c` depends on `zzz`, which is not in the plan".to_owned()
        ),
    ]);
    assert_eq!(
        problems(&[("a", &["a"])]),
        [(
            ErrorCode::SelfDependency,
            "action_plan[0].depends_on[0]".to_owned(),
            "the action `a` depends on itself, so it could never start".to_owned()
        )]
    );
    assert_eq!(problems(&[("x", &["c"]), ("a", &["b"]), ("b", &["c"]), ("c", &["a"])]), [(
        ErrorCode::DependencyCycle,
        "action_plan[1].depends_on".to_owned(),
        "these actions wait for each other, so none of them could start: `a` -> `b` -> `c` -> `a`; \
         remove one of these dependencies"
            .to_owned()
    )]);
    let error = refused(&[("a", &["b"]), ("b", &["a"]), ("b", &["b"])]);
    assert_eq!(
        error.to_string(),
        "the actions of the plan cannot be ordered: `action_plan[2].action_id`: two actions have the id \
         `b`; give each action a unique id (and 2 other problems)"
    );
}

/// EX-8
#[test]
fn long_cycle_is_reported_abbreviated() {
    let ids: Vec<String> = (0..12).map(|index| format!("a{index}")).collect();
    let next: Vec<[&str; 1]> = (0..12).map(|index| [&*ids[(index + 1) % 12]]).collect();
    let actions: Vec<(&str, &[&str])> =
        ids.iter().zip(&next).map(|(id, next)| (&**id, next.as_slice())).collect();
    assert_eq!(
        refused(&actions).problems[0].to_string(),
        "these actions wait for each other, so none of them could start: `a0` -> `a1` -> `a2` -> `a3` -> \
         `a4` -> `a5` -> `a6` -> `a7` -> (4 more) -> `a0`; remove one of these dependencies"
    );
}

/// Returns whether `to` is reachable from `from` along the edges, by exhaustive search.
fn reaches(edges: &[(usize, usize)], from: usize, to: usize, steps: usize) -> bool {
    steps > 0
        && edges
            .iter()
            .filter(|(later, _)| *later == from)
            .any(|(_, earlier)| *earlier == to || reaches(edges, *earlier, to, steps - 1))
}

/// Repeatedly takes the first action of the plan whose dependencies are all done.
fn model_order(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut done: Vec<usize> = Vec::new();
    let is_free = |done: &[usize], action: usize| {
        !done.contains(&action)
            && edges.iter().all(|(later, earlier)| *later != action || done.contains(earlier))
    };
    while let Some(next) = (0..count).find(|action| is_free(&done, *action)) {
        done.push(next);
    }
    done
}

/// Builds a plan of `count` actions in which the first of each pair depends on the second.
fn numbered_plan(count: usize, edges: &[(usize, usize)]) -> TaskPlan {
    let names: Vec<String> = (0..count).map(|index| format!("n{index}")).collect();
    let before: Vec<Vec<&str>> = (0..count)
        .map(|action| {
            let before = edges.iter().filter(|(later, _)| *later == action);
            before.map(|(_, earlier)| &*names[*earlier]).collect()
        })
        .collect();
    let each: Vec<(&str, &[&str])> =
        names.iter().zip(&before).map(|(name, before)| (&**name, before.as_slice())).collect();
    plan(&each)
}

/// EX-8
#[test]
fn graph_order_matches_the_model() {
    let graphs = (1usize..8).prop_flat_map(|count| {
        (Just(count), prop::collection::vec((0..count, 0..count), 0..10), any::<bool>())
    });
    proptest!(ProptestConfig::with_cases(2_000), |((count, edges, is_acyclic) in graphs)| {
        // Sometimes the edges are restricted so that no cycle is possible.
        let edges: Vec<_> = edges
            .into_iter()
            .map(|(a, b)| if is_acyclic { (a.max(b), a.min(b)) } else { (a, b) })
            .filter(|(a, b)| a != b)
            .collect();
        let model = model_order(count, &edges);
        match numbered_plan(count, &edges).graph() {
            Err(error) => {
                prop_assert!(model.len() < count);
                let [GraphProblem::Cycle { ids, .. }] = &*error.problems else {
                    panic!("{error}")
                };
                let places: Vec<usize> = ids
                    .iter()
                    .map(|id| id.as_str().trim_start_matches('n').parse().unwrap())
                    .collect();
                let next = places.iter().cycle().skip(1);
                for (action, next) in places.iter().zip(next) {
                    prop_assert!(edges.contains(&(*action, *next)), "{error}");
                }
            }
            Ok(graph) => {
                prop_assert_eq!(graph.order(), &*model);
                let reach = graph.reach();
                for (a, b) in (0..count).flat_map(|a| (0..count).map(move |b| (a, b))) {
                    let is_before = reaches(&edges, b, a, count);
                    prop_assert_eq!(reach.is_before(a, b), is_before);
                    prop_assert_eq!(graph.dependents(a).contains(&b), is_before);
                }
            }
        }
    });
}
