// Validator for the part of JSON Schema 2020-12 that the packages use in their tests. The engine supports all of it.

import assert from 'node:assert/strict';

const KNOWN = [
  '$schema', '$defs', '$ref', 'description', 'type', 'enum', 'pattern', 'minLength', 'maxLength', 'minItems', 'maxItems',
  'uniqueItems', 'items', 'required', 'properties', 'additionalProperties', 'oneOf', 'anyOf',
];

/** Returns the problems of `value`, as texts. */
export function problems(schema, value, root = schema, at = '$') {
  const found = [];
  const bad = (problem) => found.push(`${at}: ${problem}`);
  const inner = (part, item, place) => problems(part, item, root, place);
  for (const key of Object.keys(schema)) assert.ok(KNOWN.includes(key), `\`${key}\` is not read by this test`);
  if (schema.$ref) found.push(...inner(root.$defs[schema.$ref.slice('#/$defs/'.length)], value, at));
  if (schema.enum && !schema.enum.includes(value)) bad('not one of the values');
  const type = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
  if (schema.type && schema.type !== type) return [...found, `${at}: ${type} and not ${schema.type}`];
  if (type === 'string') {
    if (schema.pattern && !new RegExp(schema.pattern, 'u').test(value)) bad('does not match');
    if ([...value].length < (schema.minLength ?? 0)) bad('too short');
    if ([...value].length > (schema.maxLength ?? Infinity)) bad('too long');
  }
  if (type === 'array') {
    if (value.length < (schema.minItems ?? 0)) bad('too few');
    if (value.length > (schema.maxItems ?? Infinity)) bad('too many');
    if (schema.uniqueItems && new Set(value.map((item) => JSON.stringify(item))).size < value.length) bad('doubled');
    if (schema.items) value.forEach((item, index) => found.push(...inner(schema.items, item, `${at}[${index}]`)));
  }
  if (type === 'object') {
    for (const name of schema.required ?? []) if (!Object.hasOwn(value, name)) bad(`no ${name}`);
    for (const [name, item] of Object.entries(value)) {
      if (Object.hasOwn(schema.properties ?? {}, name)) found.push(...inner(schema.properties[name], item, `${at}.${name}`));
      else if (schema.additionalProperties === false) bad(`${name} is not known`);
    }
  }
  const matching = (parts) => parts.filter((part) => inner(part, value, at).length === 0).length;
  if (schema.oneOf && matching(schema.oneOf) !== 1) bad('not one of the forms');
  if (schema.anyOf && matching(schema.anyOf) === 0) bad('none of the forms');
  return found;
}

/** Requires that a manifest has the fields of the contract, and that no object of its schemas is open. */
export function requireManifest(manifest, name) {
  const { version, description, inputSchema, outputSchema, ...rest } = manifest;
  assert.deepEqual(rest, {
    name,
    riskTier: 'R2',
    permissions: { commands: [], filesystem: 'workspace' },
    verification: { required: true, commands: [] },
    rollback: { required: true },
  });
  assert.match(version, /^\d+\.\d+\.\d+$/);
  assert.match(description, /\.$/);
  for (const schema of [inputSchema, outputSchema]) {
    assert.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema');
    requireClosed(schema, '$');
  }
}

function requireClosed(schema, at) {
  if (typeof schema !== 'object' || schema === null) return;
  if (schema.type === 'object') assert.equal(schema.additionalProperties, false, at);
  for (const [key, part] of Object.entries(schema)) requireClosed(part, `${at}.${key}`);
}
