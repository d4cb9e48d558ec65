import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";

type Json = Readonly<Record<string, unknown>>;

// `strict` would refuse the keywords that OpenAPI adds to JSON Schema; formats are not asserted.
const ajv = new Ajv2020({ strict: false, validateFormats: false });
const validators = new WeakMap<object, ValidateFunction>();
const names = new WeakMap<object, string>();
let documents = 0;

/**
 * The first fault of a value under a schema of an OpenAPI document, as `path: reason`; undefined when there is none.
 * Where several alternatives fail it is the fault that lies deepest: the others belong to alternatives not meant.
 */
export function findSchemaFault(
  document: Json,
  schema: unknown,
  value: unknown,
): string | undefined {
  const validate = validatorOf(document, schema as Json);
  if (validate(value)) return undefined;
  const faults = (validate.errors ?? []).toSorted((one, other) => depthOf(other) - depthOf(one));
  const [fault] = faults;
  return fault && `$${fault.instancePath}: ${fault.message} ${JSON.stringify(fault.params)}`;
}

export function resolveReference(document: Json, reference: string): Json {
  let found: unknown = document;
  for (const name of reference.slice(2).split("/")) found = (found as Json)[name];
  return found as Json;
}

function validatorOf(document: Json, schema: Json): ValidateFunction {
  let validate = validators.get(schema);
  if (validate === undefined) {
    validate = ajv.compile(withReferencesTo(nameOf(document), schema) as Json);
    validators.set(schema, validate);
  }
  return validate;
}

/** Registers the document once: what its schemas share is then compiled once, and not for each schema anew. */
function nameOf(document: Json): string {
  let name = names.get(document);
  if (name === undefined) {
    documents += 1;
    name = `document-${documents}`;
    names.set(document, name);
    ajv.addSchema({ components: document["components"] }, name);
  }
  return name;
}

/** A schema's references into its document begin at the document's root, not at its own. */
function withReferencesTo(name: string, part: unknown): unknown {
  if (Array.isArray(part)) return part.map((item) => withReferencesTo(name, item));
  if (typeof part !== "object" || part === null) return part;
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) =>
      key === "$ref" && typeof value === "string" && value.startsWith("#/components/")
        ? [key, name + value]
        : [key, withReferencesTo(name, value)],
    ),
  );
}

function depthOf({ instancePath }: ErrorObject): number {
  return instancePath.split("/").length;
}
