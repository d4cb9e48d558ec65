import { z } from "@hono/zod-openapi";
import type { AccessLevel } from "../../access/authenticate.ts";
import type { RouteDefinition, TokenAccess } from "../request/routes/route.ts";
import { BODY_ERRORS, KEY_ERRORS, KEY_SECURITY, NO_SECURITY, refusal } from "./documentation.ts";

/** The parts of a route that a resource decides; `resourceRoute` adds those that all routes share. */
interface ResourceRoute<Level extends AccessLevel, Tokens extends TokenAccess = TokenAccess> {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  readonly path: string;
  readonly access: Level;
  /** See `RouteDefinition`. Each route under /api that is not open says which tokens may call it. */
  readonly tokens?: Tokens;
  readonly tag: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The body is optional. */
  readonly hasOptionalBody?: true;
  /** The schema of a body that is not JSON. */
  readonly form?: z.ZodType;
  readonly answer: {
    /** 200 unless set. */
    readonly status?: 201 | 202 | 204;
    readonly description: string;
    /** Undefined when the answer has no body. */
    readonly schema?: z.ZodType;
    /** The list is also available as CSV. */
    readonly hasCsv?: true;
    /** The list is also available as lines of JSON. */
    readonly hasNdjson?: true;
  };
  /** The meaning of an error on this route, by status. */
  readonly errors?: Readonly<Record<number, string>>;
}

export const SESSION_SECURITY: NonNullable<RouteDefinition["security"]> = [
  { bearerSession: [] },
  { consoleCookie: [] },
];

const PERSON_SECURITY: NonNullable<RouteDefinition["security"]> = [
  ...KEY_SECURITY,
  ...SESSION_SECURITY,
];

const DATA_SECURITY: NonNullable<RouteDefinition["security"]> = [
  { bearerBiKey: [] },
  { headerKey: [] },
];

const SESSION_ERRORS: RouteDefinition["responses"] = {
  400: refusal("The request line, a header or a parameter is wrong; `param` names it."),
  401: refusal("The session is missing, or has ended."),
  403: refusal("An API key cannot do this, or a change of the password is due."),
  503: refusal("The service cannot take the call now; `Retry-After` tells how long."),
};
const ADMINISTRATOR_ERRORS = {
  ...SESSION_ERRORS,
  403: refusal("Only an administrator may do this, by session."),
};
const SCOPED_ERRORS = {
  ...ADMINISTRATOR_ERRORS,
  403: refusal("Only an administrator's session, or a service token with the scope, may do this."),
};
const PERSON_ERRORS = {
  ...SESSION_ERRORS,
  401: refusal("The session or API key is missing, unknown or has ended."),
  403: refusal("The caller may not do this: the rights of the user, the key or the license."),
};
const DATA_ERRORS = {
  ...SESSION_ERRORS,
  401: refusal("The BI key or session is missing, unknown or has ended."),
  403: refusal(
    "The key may not be used from this address or is no BI key, or the license is over.",
  ),
};
const OPEN_ERRORS: RouteDefinition["responses"] = {
  400: refusal("The request line or a header is malformed."),
};

const OF_ACCESS = {
  open: { audience: "console", security: NO_SECURITY, errors: OPEN_ERRORS },
  caller: { audience: "public", security: KEY_SECURITY, errors: KEY_ERRORS },
  data: { audience: "public", security: DATA_SECURITY, errors: DATA_ERRORS },
  session: { audience: "console", security: SESSION_SECURITY, errors: SESSION_ERRORS },
  person: {
    audience: "console",
    security: PERSON_SECURITY,
    errors: PERSON_ERRORS,
  },
  "pending-session": { audience: "console", security: SESSION_SECURITY, errors: SESSION_ERRORS },
  administrator: { audience: "console", security: SESSION_SECURITY, errors: ADMINISTRATOR_ERRORS },
} as const;

/**
 * Builds the definition of a resource's route. Routes for callers with a key and for readers of data are public; routes
 * for sessions belong to the console.
 */
export function resourceRoute<Level extends AccessLevel, Tokens extends TokenAccess = "closed">(
  route: ResourceRoute<Level, Tokens>,
): RouteDefinition<Level, Tokens> {
  const { method, path, access, tokens, tag, operationId, summary, description } = route;
  const { audience, security, errors: errorsOfAccess } = OF_ACCESS[access];
  const takesTokens = access === "administrator" && tokens !== undefined && tokens !== "closed";
  const errors = takesTokens ? SCOPED_ERRORS : errorsOfAccess;
  return {
    method,
    path,
    access,
    audience,
    tags: [tag],
    operationId,
    summary,
    ...(tokens !== undefined && { tokens }),
    ...(description !== undefined && { description }),
    security,
    request: requestOf(route),
    responses: { ...answerOf(route), ...errors, ...bodyErrorsOf(route), ...ownErrorsOf(route) },
  };
}

function requestOf({
  path,
  query,
  body,
  form,
  hasOptionalBody,
}: ResourceRoute<AccessLevel>): NonNullable<RouteDefinition["request"]> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, z.string()]);
  const required = hasOptionalBody !== true;
  return {
    ...(names.length > 0 && { params: z.object(Object.fromEntries(names)) }),
    ...(query !== undefined && { query }),
    ...(body !== undefined && {
      body: { required, content: { "application/json": { schema: body } } },
    }),
    ...(form !== undefined && {
      body: { required, content: { "multipart/form-data": { schema: form } } },
    }),
  };
}

function answerOf({ answer }: ResourceRoute<AccessLevel>): RouteDefinition["responses"] {
  const { status = 200, description, schema, hasCsv, hasNdjson } = answer;
  const content = {
    ...(schema !== undefined && { "application/json": { schema } }),
    ...(hasCsv === true && { "text/csv": { schema: z.string() } }),
    ...(hasNdjson === true && { "application/x-ndjson": { schema: z.string() } }),
  };
  return { [status]: { description, ...(schema !== undefined && { content }) } };
}

function bodyErrorsOf({ body, form }: ResourceRoute<AccessLevel>): RouteDefinition["responses"] {
  if (form !== undefined) {
    return { ...BODY_ERRORS, 415: refusal("The body is no multipart form with a boundary.") };
  }
  return body === undefined ? {} : BODY_ERRORS;
}

function ownErrorsOf({ errors = {} }: ResourceRoute<AccessLevel>): RouteDefinition["responses"] {
  const texts = Object.entries(errors);
  return Object.fromEntries(texts.map(([status, text]) => [status, refusal(text)]));
}
