import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";

type Json = Readonly<Record<string, unknown>>;

// `strict` would refuse the keywords that OpenAPI adds to JSON Schema; formats are not asserted.
const ajv = new Ajv2020({ strict: false, validateFormats: false });
const validators = new WeakMap<object, ValidateFunction>();

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
    // References start at the root of the schema that is compiled.
    validate = ajv.compile({ ...schema, components: document["components"] });
    validators.set(schema, validate);
  }
  return validate;
}

function depthOf({ instancePath }: ErrorObject): number {
  return instancePath.split("/").length;
}
