type Json = Readonly<Record<string, unknown>>;

/**
 * The first fault of a value under a schema of an OpenAPI document, as `path: reason`; undefined when there is none.
 * Knows what the vendors' documents use, `nullable` of the older version included.
 */
export function findSchemaFault(
  document: Json,
  schema: unknown,
  value: unknown,
): string | undefined {
  return check({ document }, schema as Json, value, "$");
}

interface Check {
  readonly document: Json;
}

function check(context: Check, schema: Json, value: unknown, path: string): string | undefined {
  const reference = schema["$ref"];
  if (typeof reference === "string") {
    return check(context, resolveReference(context.document, reference), value, path);
  }
  if (value === null && schema["nullable"] === true) return undefined;
  return (
    checkType(schema, value, path) ??
    checkAll(context, listOf(schema["allOf"]), value, path) ??
    checkAny(context, listOf(schema["anyOf"] ?? schema["oneOf"]), value, path) ??
    checkMembers(context, schema, value, path) ??
    checkItems(context, schema, value, path)
  );
}

export function resolveReference(document: Json, reference: string): Json {
  let found: unknown = document;
  for (const name of reference.slice(2).split("/")) found = (found as Json)[name];
  return found as Json;
}

function checkType(schema: Json, value: unknown, path: string): string | undefined {
  const types = typeof schema["type"] === "string" ? [schema["type"]] : listOf(schema["type"]);
  if (types.length > 0 && !types.some((type) => isOfType(value, String(type)))) {
    return `${path}: ${JSON.stringify(value)?.slice(0, 80)} is no ${types.join(" or ")}`;
  }
  if ("const" in schema && schema["const"] !== value) return `${path}: is not ${schema["const"]}`;
  const words = schema["enum"];
  if (Array.isArray(words) && !words.includes(value)) {
    return `${path}: ${JSON.stringify(value)?.slice(0, 80)} is none of ${words.join(", ")}`;
  }
  return checkRange(schema, value, path);
}

function checkRange(schema: Json, value: unknown, path: string): string | undefined {
  const { minimum, maximum, pattern } = schema;
  if (typeof value === "string" && typeof pattern === "string") {
    return new RegExp(pattern, "u").test(value) ? undefined : `${path}: does not match ${pattern}`;
  }
  if (typeof value !== "number") return undefined;
  if (typeof minimum === "number" && value < minimum) return `${path}: below ${minimum}`;
  if (typeof maximum === "number" && value > maximum) return `${path}: above ${maximum}`;
  return undefined;
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "null":
      return value === null;
    default:
      return typeof value === type;
  }
}

function checkAll(
  context: Check,
  schemas: readonly Json[],
  value: unknown,
  path: string,
): string | undefined {
  for (const schema of schemas) {
    const fault = check(context, schema, value, path);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Of several faults the one that lies deepest: the others are those of schemas that were not meant. */
function checkAny(
  context: Check,
  schemas: readonly Json[],
  value: unknown,
  path: string,
): string | undefined {
  if (schemas.length === 0) return undefined;
  const faults: string[] = [];
  for (const schema of schemas) {
    const fault = check(context, schema, value, path);
    if (fault === undefined) return undefined;
    faults.push(fault);
  }
  return faults.sort((one, other) => other.indexOf(":") - one.indexOf(":"))[0];
}

function checkMembers(
  context: Check,
  schema: Json,
  value: unknown,
  path: string,
): string | undefined {
  if (!isOfType(value, "object")) return undefined;
  const members = value as Json;
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, Json>>;
  for (const name of listOf(schema["required"])) {
    if (!Object.hasOwn(members, String(name))) return `${path}.${name}: is missing`;
  }
  const others = schema["additionalProperties"];
  for (const [name, member] of Object.entries(members)) {
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const fault = checkMember(context, own ?? others, member, `${path}.${name}`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function checkMember(context: Check, schema: unknown, value: unknown, path: string) {
  if (schema === false) return `${path}: is not known`;
  return isOfType(schema, "object") ? check(context, schema as Json, value, path) : undefined;
}

function checkItems(
  context: Check,
  schema: Json,
  value: unknown,
  path: string,
): string | undefined {
  const items = schema["items"];
  if (!Array.isArray(value) || !isOfType(items, "object")) return undefined;
  for (const [index, item] of value.entries()) {
    const fault = check(context, items as Json, item, `${path}[${index}]`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
