//! Lists the settings of a system config that differ from the defaults, so that an approver can review them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::config::{Limits, SystemConfig, Timeouts};
use super::plan::Constraints;

/// Setting of a system config that differs from its default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Name of the setting, prefixed with the name of its object, such as `git.commit`.
    pub name: String,
    /// Value of the setting in the config.
    pub value: String,
}

impl SystemConfig {
    /// Lists the settings that differ from their defaults. `git.commit` is listed first.
    pub fn changed_settings(&self) -> Vec<Setting> {
        // Destructuring makes the compiler reject this function until a new setting is handled.
        let Self { constraints, timeouts, limits, manifest_ttl, commit, protected } = self;
        let mut changed = Changed::default();
        changed.add("git.commit", commit, &false, bool::to_string);
        changed.add_constraints(constraints);
        let days = |ttl: &Option<Duration>| {
            let days = ttl.map(|ttl| ttl.as_secs() / (24 * 60 * 60));
            days.map_or_else(|| "for ever".to_owned(), |days| days.to_string())
        };
        changed.add("rollback_manifest.ttl_days", manifest_ttl, &None, days);
        changed.add_timeouts(timeouts);
        changed.add_limits(limits);
        for rule in protected {
            changed.0.push(Setting { name: "protected_files".to_owned(), value: rule.to_string() });
        }
        changed.0
    }
}

#[derive(Default)]
struct Changed(Vec<Setting>);

impl Changed {
    fn add<T: PartialEq>(&mut self, name: &str, is: &T, default: &T, shown: fn(&T) -> String) {
        if is != default {
            self.0.push(Setting { name: name.to_owned(), value: shown(is) });
        }
    }

    fn add_constraints(&mut self, is: &Constraints) {
        let default = Constraints::default();
        let Constraints { stop_on_error, rollback_on_failure, preserve_permissions, verify_hashes } =
            is;
        for (name, is, default) in [
            (
                "soft_constraints.rollback_on_failure",
                rollback_on_failure,
                default.rollback_on_failure,
            ),
            ("soft_constraints.stop_on_error", stop_on_error, default.stop_on_error),
            (
                "soft_constraints.preserve_permissions",
                preserve_permissions,
                default.preserve_permissions,
            ),
            ("soft_constraints.verify_hashes", verify_hashes, default.verify_hashes),
        ] {
            self.add(name, is, &default, bool::to_string);
        }
    }

    fn add_timeouts(&mut self, is: &Timeouts) {
        let default = Timeouts::default();
        let Timeouts { file, schema, sql, pipeline, task } = is;
        for (name, is, default) in [
            ("timeouts.file_seconds", file, default.file),
            ("timeouts.schema_seconds", schema, default.schema),
            ("timeouts.sql_seconds", sql, default.sql),
            ("timeouts.pipeline_seconds", pipeline, default.pipeline),
            ("timeouts.task_seconds", task, default.task),
        ] {
            self.add(name, is, &default, |time| time.as_secs().to_string());
        }
    }

    fn add_limits(&mut self, is: &Limits) {
        let default = Limits::default();
        let Limits { files_max, file_bytes_max, backup_bytes_max, parallel_max } = is;
        for (name, is, default) in [
            ("limits.max_files", u64::from(*files_max), u64::from(default.files_max)),
            ("limits.max_file_bytes", *file_bytes_max, default.file_bytes_max),
            ("limits.max_backup_bytes", *backup_bytes_max, default.backup_bytes_max),
            ("limits.max_parallel", u64::from(*parallel_max), u64::from(default.parallel_max)),
        ] {
            self.add(name, &is, &default, u64::to_string);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-17, AA-5
    #[test]
    fn changed_settings_list_the_commit_setting_first() {
        let config = b"protected_files: ['a/**']\n\
            limits: {max_files: 7, max_parallel: 4}\n\
            timeouts: {task_seconds: 600}\n\
            rollback_manifest: {ttl_days: 1}\n\
            soft_constraints: {rollback_on_failure: false, stop_on_error: false, verify_hashes: true}\n\
            git: {commit: true}\n";
        let settings = SystemConfig::read(config).unwrap().changed_settings();
        let shown: Vec<_> =
            settings.iter().map(|it| format!("{}: {}", it.name, it.value)).collect();
        let expected = [
            "git.commit: true",
            "soft_constraints.rollback_on_failure: false",
            "soft_constraints.stop_on_error: false",
            "rollback_manifest.ttl_days: 1",
            "timeouts.task_seconds: 600",
            "limits.max_files: 7",
            "protected_files: a/**",
        ];
        assert_eq!(shown, expected);
        assert_eq!(SystemConfig::default().changed_settings(), []);
    }
}
