/** The boundary of every form made here. */
const FILE_BOUNDARY = "boundary-of-the-tests";
export const FILE_FORM_TYPE = `multipart/form-data; boundary=${FILE_BOUNDARY}`;

export interface FileForm {
  readonly filename?: string;
  readonly content?: string | Uint8Array;
  /** Text fields, before the file. */
  readonly fields?: Readonly<Record<string, string>>;
  /** The name of the field with the file. */
  readonly field?: string;
}

/** The bytes of a form with a file, in which every byte is the test's own: the name is written as it is. */
export function fileForm({
  filename = "a.txt",
  content = "some text",
  fields = { purpose: "assistants" },
  field = "file",
}: FileForm = {}): Buffer<ArrayBuffer> {
  const texts = Object.entries(fields).map(
    ([name, value]) =>
      `--${FILE_BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return Buffer.concat([
    Buffer.from(
      `${texts.join("")}--${FILE_BOUNDARY}\r\ncontent-disposition: form-data; name="${field}"; filename="${filename}"\r\n\r\n`,
    ),
    Buffer.from(content as string),
    Buffer.from(`\r\n--${FILE_BOUNDARY}--\r\n`),
  ]);
}
