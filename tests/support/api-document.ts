export type Json = Readonly<Record<string, unknown>>;

export interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly Json[];
  readonly parameters?: readonly Json[];
  readonly requestBody?: Json;
  readonly responses?: Readonly<Record<string, Json>>;
}

/** An OpenAPI document as tests look into it. */
export interface ApiDocument {
  readonly openapi: string;
  readonly info: Json;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly securitySchemes: Json; readonly schemas: Json };
}

/** `get /v1/models`, the path, and what stands there. */
export type NamedOperation = readonly [where: string, path: string, operation: Operation];

export function operationsOf({ paths }: ApiDocument): readonly NamedOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(
      ([method, operation]): NamedOperation => [`${method} ${path}`, path, operation],
    ),
  );
}

/** The schema of one media type of a body, itself and not a reference to it. */
export function schemaOf(document: ApiDocument, body: Json | undefined, type: string): Json {
  const content = body?.["content"] as Readonly<Record<string, { schema: Json }>> | undefined;
  const schema = content?.[type]?.schema ?? {};
  const reference = schema["$ref"];
  return typeof reference === "string" ? (resolve(document, reference) as Json) : schema;
}

/** What a reference within the document points to; undefined when there is nothing. */
export function resolve(document: unknown, reference: string | undefined): unknown {
  const names = (reference ?? "").replace(/^#\//, "").split("/");
  return names.reduce<unknown>(
    (place, name) => (place as Json | undefined)?.[name.replace("~1", "/").replace("~0", "~")],
    document,
  );
}

/** Every object of the document, at any depth, but what stands in an example. */
export function partsOf(value: unknown): readonly Json[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(partsOf);
  const members = Object.entries(value as Json).filter(([name]) => name !== "example");
  return [value as Json, ...members.flatMap(([, member]) => partsOf(member))];
}

/** The examples of one object of the document, with what they are examples of. */
export function examplesOf(part: Json): { readonly schema: unknown; readonly value: unknown }[] {
  const { schema, example, examples } = part;
  const alone = example === undefined ? [] : [{ schema: schema ?? part, value: example }];
  // Beside a schema stand named examples.
  if (schema === undefined || examples === undefined) return alone;
  const named = Object.values(examples as Json).map((one) => (one as Json)["value"]);
  return [...alone, ...named.map((value) => ({ schema, value }))];
}

export function answersOf(operations: readonly NamedOperation[]) {
  return operations.flatMap(([where, , { responses = {} }]) =>
    Object.entries(responses).map(([status, answer]) => ({
      where: `${where} ${status}`,
      status: Number(status),
      answer,
    })),
  );
}

/** The names of the schemas that allow null. */
export function nullableSchemas({ components }: ApiDocument): readonly string[] {
  const allowsNull = (schema: unknown): boolean => {
    const { type, anyOf = [], oneOf = [] } = schema as Json;
    const ways = [anyOf, oneOf].flat();
    return [type].flat().includes("null") || ways.some(allowsNull);
  };
  return Object.keys(components.schemas).filter((name) => allowsNull(components.schemas[name]));
}
