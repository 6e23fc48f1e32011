// Determines the comment style of a file from its name.

/** Comment styles. `line` begins a line comment, and `block` begins and ends a block comment. `write` is the format of a new
    header: its first line, the prefix of each tag, and its last line. `keep` names the content that must stay at the start of
    files with this style, in addition to what every file keeps there. */
const SLASH = { line: '//', block: ['/*', '*/'], write: { prefix: '// ' } };
const HASH = { line: '#', write: { prefix: '# ' } };
const DASH = { line: '--', write: { prefix: '-- ' } };
const SEMICOLON = { line: ';', write: { prefix: ';; ' } };
const PERCENT = { line: '%', write: { prefix: '% ' } };
const CSS = { block: ['/*', '*/'], write: { open: '/*', prefix: ' * ', close: ' */' }, keep: 'charset' };
const XML = { block: ['<!--', '-->'], write: { open: '<!--', prefix: '', close: '-->' }, keep: 'prolog' };

/** Styles by file extension. Extensions that are shared by languages with different comments (`.m`, `.pl`, `.v`) are missing. */
const BY_ENDING = new Map();
const add = (style, endings) => endings.split(' ').forEach((ending) => BY_ENDING.set(ending, style));
add(SLASH, 'c cc cpp cxx h hh hpp hxx cs cu cuh dart glsl go gradle groovy hlsl java js cjs mjs jsx jsonc kt kts');
add(SLASH, 'metal mm proto rs scala sol sv svh swift ts cts mts tsx wgsl zig');
add({ ...SLASH, keep: 'charset' }, 'less scss');
add({ ...SLASH, keep: 'php' }, 'php');
add(HASH, 'awk bash bazel bzl cmake coffee cr ex exs fish gd gemspec gql graphql hcl jl ksh mk nim nix pm ps1 psm1');
add(HASH, 'py pyi pyx r rake rb sh star tcl tf tfvars toml yaml yml zsh');
add(DASH, 'adb ads elm hs lua sql vhd vhdl');
add(SEMICOLON, 'clj cljc cljs edn el lisp scm');
add(PERCENT, 'erl hrl sty tex');
add(CSS, 'css');
add(XML, 'htm html markdown md plist svelte svg vue xhtml xml xsd xsl xslt');

const BY_NAME = new Map();
for (const name of ['BUILD', 'CMakeLists.txt', 'Containerfile', 'Dockerfile', 'GNUmakefile', 'Gemfile', 'Justfile',
  'Makefile', 'Rakefile', 'Vagrantfile', 'WORKSPACE', 'justfile', 'makefile']) {
  BY_NAME.set(name, HASH);
}
BY_NAME.set('Jenkinsfile', SLASH);

/** Returns the comment style of the file at `path`, or undefined if it is unknown. */
export function styleOf(path) {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  return BY_NAME.get(name) ?? (dot > 0 ? BY_ENDING.get(name.slice(dot + 1).toLowerCase()) : undefined);
}
