// Parses, increases and compares versions according to Semantic Versioning 2.0.0.

export const PARTS = ['major', 'minor', 'patch'];
const VERSION_CHARS_MAX = 256;

const NUMBER = '(0|[1-9]\\d*)';
const LABEL = '(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)';
const SEMVER = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}` +
    `(?:-(${LABEL}(?:\\.${LABEL})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
);

/** Returns the three numbers and the pre-release labels of a version, or undefined if the text is not a version. */
export function parse(text) {
  if (typeof text !== 'string' || text.length > VERSION_CHARS_MAX) return undefined;
  const match = SEMVER.exec(text);
  if (!match) return undefined;
  const [, major, minor, patch, pre] = match;
  return { numbers: [major, minor, patch].map(BigInt), labels: pre ? pre.split('.') : [] };
}

/** Returns the next version after `text`. A pre-release precedes its release, so the release can be the next version. */
export function next(text, part) {
  const { numbers, labels } = parse(text);
  const index = PARTS.indexOf(part);
  const isNextAlready = labels.length > 0 && numbers.slice(index + 1).every((number) => number === 0n);
  return numbers
    .map((number, at) => {
      if (at > index) return 0n;
      return at === index && !isNextAlready ? number + 1n : number;
    })
    .join('.');
}

/** Compares two versions and returns a negative number, 0 or a positive number. Build metadata is ignored. */
export function compare(a, b) {
  const [left, right] = [parse(a), parse(b)];
  for (let at = 0; at < 3; at += 1) {
    if (left.numbers[at] !== right.numbers[at]) return left.numbers[at] < right.numbers[at] ? -1 : 1;
  }
  if (left.labels.length === 0 || right.labels.length === 0) {
    return Math.sign(right.labels.length - left.labels.length);
  }
  for (let at = 0; at < Math.max(left.labels.length, right.labels.length); at += 1) {
    const order = compareLabels(left.labels[at], right.labels[at]);
    if (order !== 0) return order;
  }
  return 0;
}

function compareLabels(a, b) {
  if (a === b) return 0;
  if (a === undefined || b === undefined) return a === undefined ? -1 : 1;
  const [aIsNumber, bIsNumber] = [a, b].map((label) => /^\d+$/.test(label));
  if (aIsNumber !== bIsNumber) return aIsNumber ? -1 : 1;
  if (aIsNumber) return BigInt(a) < BigInt(b) ? -1 : 1;
  return a < b ? -1 : 1;
}
