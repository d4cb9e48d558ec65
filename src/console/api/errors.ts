/** What a call that failed says. `status` 0 and code `network` mean that no answer came. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  /** The field of the request that is wrong. */
  readonly param: string | null;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
  /** Further details, such as all faults where `param` names the first. */
  readonly ext: Readonly<Record<string, unknown>> | undefined;

  constructor(message: string, fields: ErrorFields) {
    super(message);
    this.status = fields.status;
    this.code = fields.code;
    this.param = fields.param;
    this.requestId = fields.requestId;
    this.retryAfterSeconds = fields.retryAfterSeconds;
    this.ext = fields.ext;
  }
}

type ErrorFields = Omit<ApiError, "name" | "message" | "stack" | "cause" | "ext"> &
  Partial<Pick<ApiError, "ext">>;

interface Called<Data> {
  readonly data?: Data;
  readonly error?: unknown;
  readonly response: Response;
}

const SIGNED_OUT: ReadonlySet<string> = new Set(["session_required", "session_expired"]);
const signedOut = new Set<() => void>();
const signedIn = new Set<() => void>();

/** Calls the listener whenever an answer says that there is no session; returns the function that ends it. */
export function onSignedOut(listener: () => void): () => void {
  signedOut.add(listener);
  return () => signedOut.delete(listener);
}

/** Calls the listener when the same person has logged in again over the page; returns the function that ends it. */
export function onSignedIn(listener: () => void): () => void {
  signedIn.add(listener);
  return () => signedIn.delete(listener);
}

/** Tells that somebody has logged in again over the page. */
export function tellSignedIn(): void {
  for (const listener of signedIn) listener();
}

/** Returns the data of a call. Rejects with {@link ApiError}. */
export async function unwrap<Data>(call: Promise<Called<Data>>): Promise<Data> {
  const called = await call.catch((thrown: unknown) => {
    if (thrown instanceof DOMException && thrown.name === "AbortError") throw thrown;
    throw new ApiError("The gateway does not answer.", {
      status: 0,
      code: "network",
      param: null,
      requestId: null,
      retryAfterSeconds: null,
    });
  });
  const { response, data, error } = called;
  if (response.ok) return data as Data;
  throw toApiError(response, error);
}

/** Returns why something failed, for a sentence. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof ApiError ? thrown.message : "Something is wrong in this page.";
}

/** Returns the error that an answer carries. */
export function toApiError(response: Response, body: unknown): ApiError {
  const { status, headers } = response;
  const { error = {}, ext } = (body ?? {}) as Partial<
    Record<"error" | "ext", Record<string, unknown>>
  >;
  const retry = Number(headers.get("retry-after") ?? Number.NaN);
  const made = new ApiError(String(error["message"] ?? `The gateway answered ${status}.`), {
    status,
    code: String(error["code"] ?? `http_${status}`),
    param: typeof error["param"] === "string" ? error["param"] : null,
    requestId: headers.get("x-request-id"),
    retryAfterSeconds: Number.isFinite(retry) ? retry : null,
    ext,
  });
  if (status === 401 && SIGNED_OUT.has(made.code)) for (const listener of signedOut) listener();
  return made;
}
