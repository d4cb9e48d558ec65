import { DriverFault } from "./session.ts";

const HEADER_BYTES = 5;
const MESSAGE_MAX_BYTES = 2 ** 30;
/** Longer messages of a login are no PostgreSQL's. */
const LOGIN_MESSAGE_MAX_BYTES = 8_192;
/** Deriving the key takes about a microsecond for each. PostgreSQL's default is 4,096. */
const MAX_ITERATIONS = 200_000;
const LOGIN = "R".charCodeAt(0);
const KEY = "K".charCodeAt(0);
const SASL_CONTINUE = 11;
/** Every message that a server sends for a login and for queries. The start of a COPY is none of them. */
const KNOWN = new Set([..."RKSZNETDC12tns3A"].map((letter) => letter.charCodeAt(0)));
const NO_RESULT = new Set([..."GHWI"].map((letter) => letter.charCodeAt(0)));

/**
 * Reads along what a PostgreSQL server sends. The driver trusts its server: it throws outside of any query for a faulty
 * login, derives a key for as long as the server likes, and waits without end after a statement that has no result.
 */
export class PostgresWatch {
  /** The process id and the secret by which a query is cancelled. */
  #key: Buffer | undefined;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  #bodyLeft = 0;
  #body: Buffer[] | undefined;

  get key(): Buffer | undefined {
    return this.#key;
  }

  /** Takes the next bytes. Throws a `DriverFault` for what must not reach the driver. */
  check(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#headerBytes < HEADER_BYTES) {
        const taken = chunk.copy(this.#header, this.#headerBytes, at);
        this.#headerBytes += taken;
        at += taken;
        if (this.#headerBytes === HEADER_BYTES) this.#begin();
      } else {
        const end = Math.min(chunk.length, at + this.#bodyLeft);
        this.#body?.push(chunk.subarray(at, end));
        this.#bodyLeft -= end - at;
        at = end;
      }
      if (this.#headerBytes === HEADER_BYTES && this.#bodyLeft === 0) this.#end();
    }
  }

  #begin(): void {
    const type = this.#header[0] ?? 0;
    const length = this.#header.readUInt32BE(1);
    if (NO_RESULT.has(type)) {
      throw new DriverFault("statement", "The statement is empty, or copies data; run a query.");
    }
    if (!KNOWN.has(type) || length < 4 || length > MESSAGE_MAX_BYTES) throw otherProtocol();
    const isRead = type === LOGIN || type === KEY;
    if (isRead && length > LOGIN_MESSAGE_MAX_BYTES) throw otherProtocol();
    this.#bodyLeft = length - 4;
    this.#body = isRead ? [] : undefined;
  }

  #end(): void {
    this.#headerBytes = 0;
    if (this.#body === undefined) return;
    const body = Buffer.concat(this.#body);
    this.#body = undefined;
    if (this.#header[0] === KEY) this.#key = body;
    else checkLogin(body);
  }
}

function checkLogin(body: Buffer): void {
  if (body.length < 4) throw otherProtocol();
  if (body.readUInt32BE(0) !== SASL_CONTINUE) return;
  const given = /^r=[^,]+,s=[A-Za-z0-9+/]+=*,i=(\d{1,7})$/.exec(body.toString("latin1", 4));
  const iterations = Number(given?.[1] ?? 0);
  if (iterations < 1 || iterations > MAX_ITERATIONS) throw otherProtocol();
}

function otherProtocol(): DriverFault {
  return new DriverFault(
    "protocol",
    "The server does not speak PostgreSQL's protocol; check host and port.",
  );
}
