import { FieldReader, int16, int32, message, text } from "./fields.ts";

const TEXT_FORMAT = 0;
/** No client uses it. */
const ASIDE = "\u0001aside";

/** Sends a text of one or several statements. */
export const query = (sql: string): Buffer => message("Q", text(sql));

export const parse = (name: string, sql: string): Buffer =>
  message("P", text(name), text(sql), int16(0));

/** Binds parameters as texts, null for NULL, and asks for results as texts. */
export function bind(
  portal: string,
  statement: string,
  values: readonly (string | null)[],
): Buffer {
  const parameters = values.flatMap((value) => {
    if (value === null) return [int32(-1)];
    const bytes = Buffer.from(value);
    return [int32(bytes.length), bytes];
  });
  return message(
    "B",
    text(portal),
    text(statement),
    int16(0),
    int16(values.length),
    ...parameters,
    int16(1),
    int16(TEXT_FORMAT),
  );
}

export const describePortal = (portal: string): Buffer =>
  message("D", Buffer.from("P"), text(portal));
/** @param maxRows 0 for all. */
export const execute = (portal: string, maxRows: number): Buffer =>
  message("E", text(portal), int32(maxRows));
export const sync = (): Buffer => message("S");
export const terminate = (): Buffer => message("X");

/** Runs a statement without parameters, and leaves the client's unnamed statement and portal as they are. */
export function runAside(sql: string): Buffer {
  const close = (kind: "S" | "P") => message("C", Buffer.from(kind), text(ASIDE));
  const run = [parse(ASIDE, sql), bind(ASIDE, ASIDE, []), execute(ASIDE, 0)];
  return Buffer.concat([...run, close("P"), close("S")]);
}

/** The name and the text of a Parse message, which the gate reads; what follows them is the types of parameters. */
export function readParse(body: Buffer): { readonly name: string; readonly sql: string } {
  const fields = new FieldReader(body);
  return { name: fields.text(), sql: fields.text() };
}
