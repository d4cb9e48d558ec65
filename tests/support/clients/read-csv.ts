/** A CSV text as RFC 4180 has it: its records, each a list of fields. Throws where the text is not one. */
export function readCsv(text: string): string[][] {
  const records: string[][] = [];
  let fields: string[] = [];
  let at = 0;
  while (at < text.length) {
    const { field, end } = text[at] === '"' ? quotedField(text, at) : plainField(text, at);
    fields.push(field);
    if (text[end] === ",") {
      at = end + 1;
    } else if (text.startsWith("\r\n", end)) {
      records.push(fields);
      fields = [];
      at = end + 2;
    } else throw new Error(`no field ends at ${end}`);
  }
  if (fields.length > 0) throw new Error("the last record has no end");
  return records;
}

/** Each record as an object by the names of the header. */
export function readCsvTable(text: string): Record<string, string>[] {
  const [header = [], ...records] = readCsv(text);
  return records.map((fields) => {
    if (fields.length !== header.length) throw new Error(`${fields.length} fields in a record`);
    return Object.fromEntries(header.map((name, index) => [name, fields[index] as string]));
  });
}

function plainField(text: string, start: number) {
  let end = start;
  while (end < text.length && !",\r\n".includes(text[end] as string)) {
    if (text[end] === '"') throw new Error(`a quote at ${end} within a field without`);
    end += 1;
  }
  return { field: text.slice(start, end), end };
}

function quotedField(text: string, start: number) {
  let field = "";
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] !== '"') field += text[at];
    else if (text[at + 1] === '"') {
      field += '"';
      at += 1;
    } else return { field, end: at + 1 };
  }
  throw new Error(`the quote at ${start} has no end`);
}
