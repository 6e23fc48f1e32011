//! The table of rules. An id is permanent; what a rule finds may become more precise.

use super::shape::Alphabet::{Base32, Base62, Base64, Base64Url, Digits, Hex, Lower, Upper};
use super::shape::Part::{self, Run, Text};
use super::shape::Proof::{Bech32, Crc32, Ends, Holds, Mixed, NotOneOf, Random, Unlikely};
use super::shape::Shape::{self, Assigned, DatabaseUrl, PrivateKey, Token, Within};

/// One kind of credential.
pub(super) struct Rule {
    pub(super) id: &'static str,
    /// One sentence.
    pub(super) finds: &'static str,
    /// Where it is worth looking more closely. No literal is the beginning of another one.
    pub(super) literals: &'static [&'static str],
    /// What must stand there; the first that does counts.
    pub(super) shapes: &'static [Shape],
}

/// The keys of the emulators of Azure's storage and database, which are the same for everybody.
const AZURE_EMULATORS: &[&str] = &["Eby8vdM02xNOcqFl", "C2y6yDjf5/R+ob0N"];

const SLACK_ID: Part = Run(Digits, 9, 14);
const SLACK_END: Part = Run(Base62, 20, 64);

/// In the order of the ids.
pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "age-secret-key",
        finds: "A secret key of age, with a sound checksum.",
        literals: &["AGE-SECRET-KEY-1"],
        shapes: &[Token(&[Run(Upper, 58, 58)], Bech32("age-secret-key-"))],
    },
    Rule {
        id: "anthropic-api-key",
        finds: "A key of Anthropic's API, for use or for administration.",
        literals: &["sk-ant-"],
        shapes: &[Token(&[Run(Base64Url, 90, 120)], Ends("AA"))],
    },
    Rule {
        id: "aws-access-key-id",
        finds: "The id of an access key of AWS, lasting (AKIA) or for a session (ASIA).",
        literals: &["AKIA", "ASIA"],
        // One in 28 has no digit.
        shapes: &[Token(&[Run(Base32, 16, 16)], Unlikely)],
    },
    Rule {
        id: "aws-secret-access-key",
        finds: "A secret access key of AWS that is assigned to a name which says so.",
        literals: &["secret_access_key", "SECRET_ACCESS_KEY", "SecretAccessKey", "secretAccessKey"],
        shapes: &[Assigned(Base64, 40, Mixed)],
    },
    Rule {
        id: "azure-account-key",
        finds: "The key of an Azure storage or database account in a connection string.",
        literals: &["AccountKey="],
        shapes: &[Token(&[Run(Base64, 86, 86), Text("==")], NotOneOf(AZURE_EMULATORS))],
    },
    Rule {
        id: "crates-io-token",
        finds: "A token of crates.io.",
        literals: &["cio"],
        shapes: &[Token(&[Run(Base62, 32, 32)], Mixed)],
    },
    Rule {
        id: "database-url-password",
        finds: "A password in the URL of a database or queue on another machine.",
        literals: &[
            "postgres://",
            "postgresql://",
            "+psycopg2://",
            "+asyncpg://",
            "mysql://",
            "+pymysql://",
            "mariadb://",
            "mongodb://",
            "mongodb+srv://",
            "redis://",
            "rediss://",
            "amqp://",
            "amqps://",
        ],
        shapes: &[DatabaseUrl],
    },
    Rule {
        id: "digitalocean-token",
        finds: "A token of DigitalOcean: personal, of an application, or to refresh one.",
        literals: &["dop_v1_", "doo_v1_", "dor_v1_"],
        shapes: &[Token(&[Run(Hex, 64, 64)], Random)],
    },
    Rule {
        id: "docker-access-token",
        finds: "An access token of Docker Hub, of a person or an organisation.",
        literals: &["dckr_pat_", "dckr_oat_"],
        shapes: &[Token(&[Run(Base64Url, 27, 32)], Random)],
    },
    Rule {
        id: "github-fine-grained-token",
        finds: "A fine-grained personal access token of GitHub.",
        literals: &["github_pat_"],
        shapes: &[Token(&[Run(Base62, 22, 22), Text("_"), Run(Base62, 59, 59)], Random)],
    },
    Rule {
        id: "github-token",
        finds: "A token of GitHub with a sound checksum, or one of an installation in the form of a \
                JSON Web Token.",
        literals: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        shapes: &[
            Token(&[Run(Base62, 36, 36)], Crc32),
            Token(&[Run(Base62, 76, 76)], Crc32),
            Token(
                &[
                    Run(Digits, 1, 12),
                    Text("_eyJ"),
                    Run(Base64Url, 16, 1_000),
                    Text(".eyJ"),
                    Run(Base64Url, 16, 2_000),
                    Text("."),
                    Run(Base64Url, 32, 1_000),
                ],
                Random,
            ),
        ],
    },
    Rule {
        id: "gitlab-token",
        finds: "A token of GitLab: personal, to deploy, of a runner, of SCIM or to trigger.",
        literals: &["glpat-", "gldt-", "glrt-", "glptt-", "glsoat-"],
        shapes: &[
            Token(&[Run(Base64Url, 20, 20)], Random),
            Token(&[Run(Hex, 40, 40)], Random),
            Token(&[Run(Base64Url, 27, 300), Text("."), Run(Lower, 9, 9)], Random),
            Token(
                &[
                    Run(Base64Url, 27, 300),
                    Text("."),
                    Run(Lower, 2, 2),
                    Text("."),
                    Run(Lower, 9, 9),
                ],
                Random,
            ),
        ],
    },
    Rule {
        id: "google-api-key",
        finds: "A key of Google's APIs.",
        literals: &["AIza"],
        shapes: &[Token(&[Run(Base64Url, 35, 35)], Mixed)],
    },
    Rule {
        id: "google-oauth-client-secret",
        finds: "The secret of an OAuth client of Google.",
        literals: &["GOCSPX-"],
        shapes: &[Token(&[Run(Base64Url, 28, 28)], Random)],
    },
    Rule {
        id: "grafana-service-account-token",
        finds: "A token of a service account of Grafana.",
        literals: &["glsa_"],
        shapes: &[Token(&[Run(Base62, 32, 32), Text("_"), Run(Hex, 8, 8)], Random)],
    },
    Rule {
        id: "hugging-face-token",
        finds: "A token of Hugging Face.",
        literals: &["hf_"],
        shapes: &[Token(&[Run(Base62, 34, 34)], Random)],
    },
    Rule {
        id: "npm-token",
        finds: "A token of npm.",
        literals: &["npm_"],
        shapes: &[Token(&[Run(Base62, 36, 36)], Mixed)],
    },
    Rule {
        id: "openai-api-key",
        finds: "A key of OpenAI's API: of a project, a service account, an administrator, or old.",
        literals: &["sk-proj-", "sk-svcacct-", "sk-admin-", "T3BlbkFJ"],
        shapes: &[Token(&[Run(Base64Url, 48, 220)], Holds("T3BlbkFJ")), Within("sk-", 20)],
    },
    Rule {
        id: "private-key",
        finds: "A private key in PEM, encrypted or not, also as in the JSON of a service account.",
        literals: &["-----BEGIN "],
        shapes: &[PrivateKey],
    },
    Rule {
        id: "pypi-token",
        finds: "An upload token of PyPI or its test instance.",
        literals: &["pypi-AgE"],
        shapes: &[Token(&[Run(Base64Url, 64, 1_000)], Random)],
    },
    Rule {
        id: "rubygems-token",
        finds: "A key of RubyGems.",
        literals: &["rubygems_"],
        shapes: &[Token(&[Run(Hex, 48, 48)], Random)],
    },
    Rule {
        id: "sendgrid-api-key",
        finds: "A key of SendGrid's API.",
        literals: &["SG."],
        shapes: &[Token(&[Run(Base64Url, 22, 22), Text("."), Run(Base64Url, 43, 43)], Mixed)],
    },
    Rule {
        id: "shopify-token",
        finds: "An access token or shared secret of Shopify.",
        literals: &["shpat_", "shpss_"],
        shapes: &[Token(&[Run(Hex, 32, 32)], Random)],
    },
    Rule {
        id: "slack-token",
        finds: "A token of Slack: of a bot, a user, a workspace or an application.",
        literals: &["xoxb-", "xoxp-", "xoxa-", "xoxe-", "xoxs-", "xapp-"],
        shapes: &[
            Token(&[SLACK_ID, Text("-"), SLACK_END], Random),
            Token(&[SLACK_ID, Text("-"), SLACK_ID, Text("-"), SLACK_END], Random),
            Token(
                &[SLACK_ID, Text("-"), SLACK_ID, Text("-"), SLACK_ID, Text("-"), SLACK_END],
                Random,
            ),
            Token(&[Text("1-"), Run(Base62, 100, 250)], Random),
            Token(
                &[Text("1-A"), Run(Upper, 8, 14), Text("-"), SLACK_ID, Text("-"), Run(Hex, 64, 64)],
                Random,
            ),
        ],
    },
    Rule {
        id: "slack-webhook-url",
        finds: "The URL of an incoming webhook of Slack, which is all that it takes to post.",
        literals: &["hooks.slack.com/services/"],
        shapes: &[Token(
            &[
                Text("T"),
                Run(Upper, 8, 12),
                Text("/B"),
                Run(Upper, 8, 12),
                Text("/"),
                Run(Base62, 24, 24),
            ],
            Random,
        )],
    },
    Rule {
        id: "stripe-live-key",
        finds: "A secret or restricted key of Stripe that moves real money.",
        literals: &["sk_live_", "rk_live_"],
        shapes: &[Token(&[Run(Base62, 24, 247)], Random)],
    },
    Rule {
        id: "twilio-auth-token",
        finds: "The token of a Twilio account that is assigned to a name which says so.",
        literals: &["twilio_auth_token", "TWILIO_AUTH_TOKEN"],
        shapes: &[Assigned(Hex, 32, Random)],
    },
    Rule {
        id: "vault-token",
        finds: "A token of HashiCorp Vault, for a service or a batch.",
        literals: &["hvs.", "hvb."],
        shapes: &[Token(&[Run(Base64Url, 24, 300)], Random)],
    },
];
