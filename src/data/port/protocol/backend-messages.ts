import { FieldReader, int32, message, text } from "./fields.ts";

/** The fields of an error or a notice that the gateway itself writes or reads. */
export interface ServerError {
  readonly severity: "ERROR" | "FATAL";
  /** SQLSTATE. */
  readonly code: string;
  readonly message: string;
  readonly detail?: string | undefined;
  readonly hint?: string | undefined;
  /** Characters from 1. */
  readonly position?: number | undefined;
}

export function errorResponse(error: ServerError): Buffer {
  const fields: readonly (readonly [string, string | number | undefined])[] = [
    ["S", error.severity],
    ["V", error.severity],
    ["C", error.code],
    ["M", error.message],
    ["D", error.detail],
    ["H", error.hint],
    ["P", error.position],
  ];
  const given = fields.flatMap(([name, value]) =>
    value === undefined ? [] : [text(`${name}${String(value).replaceAll("\0", "")}`)],
  );
  return message("E", ...given, Buffer.from([0]));
}

/** Reads the body of an ErrorResponse. */
export function readError(body: Buffer): ServerError {
  const fields = new FieldReader(body);
  const found = new Map<string, string>();
  for (let name = fields.byte(); name !== "\0"; name = fields.byte())
    found.set(name, fields.text());
  const position = found.get("P");
  return {
    severity: found.get("V") === "FATAL" ? "FATAL" : "ERROR",
    code: found.get("C") ?? "XX000",
    message: found.get("M") ?? "The database refused the statement.",
    detail: found.get("D"),
    hint: found.get("H"),
    position: position === undefined ? undefined : Number(position),
  };
}

export const authenticationOk = (): Buffer => message("R", int32(0));
export const authenticationCleartextPassword = (): Buffer => message("R", int32(3));
export const parameterStatus = (name: string, value: string): Buffer =>
  message("S", text(name), text(value));
export const backendKeyData = (processId: number, secret: number): Buffer =>
  message("K", int32(processId), int32(secret));
/** @param status `I` idle, `T` in a transaction, `E` in a failed one. */
export const readyForQuery = (status: "I" | "T" | "E"): Buffer => message("Z", Buffer.from(status));
