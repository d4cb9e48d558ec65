export const BOUNDARY = "----form-boundary-7f3a";

export interface FormPiece {
  readonly name: string;
  readonly value: string | Uint8Array;
  /** Makes it a file. */
  readonly filename?: string;
}

/** The bytes of a form with these parts, in their order. */
export function formBytes(pieces: readonly FormPiece[], boundary = BOUNDARY): Buffer {
  const parts = pieces.flatMap(({ name, value, filename }) => {
    const file =
      filename === undefined ? "" : `; filename="${filename}"\r\nContent-Type: audio/wav`;
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`;
    return [Buffer.from(head), Buffer.from(value as string), Buffer.from("\r\n")];
  });
  return Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]);
}

/** A form with a recording and a model. */
export function audioForm(model: string, more: readonly FormPiece[] = [], bytes = 1_000): Buffer {
  const recording = { name: "file", value: Buffer.alloc(bytes, 7), filename: "speech.wav" };
  return formBytes([recording, { name: "model", value: model }, ...more]);
}

export const FORM_TYPE = { "content-type": `multipart/form-data; boundary=${BOUNDARY}` };
