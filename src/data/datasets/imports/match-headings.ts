import { isNumbered, toColumnName } from "../columns.ts";
import { shown, TableFault, type TableField } from "./table-job.ts";

interface Claim {
  readonly heading: string;
  /** The heading is not the column's own: it only becomes the same name. */
  readonly isAlike: boolean;
}

/**
 * Finds the columns of a dataset by the headings of one file. A column has its name and the heading that it was made
 * from. A column whose heading is not known may have any that becomes its name, unless several could be meant: then
 * nothing is guessed, because values would end in a wrong column.
 */
export class HeadingMatch {
  readonly #fields: readonly TableField[];
  readonly #exact = new Map<string, TableField>();
  readonly #byName = new Map<string, TableField>();
  /** By column, the heading that has it in this file. */
  readonly #claims = new Map<string, Claim>();
  readonly #found = new Map<string, TableField>();

  constructor(fields: readonly TableField[]) {
    this.#fields = fields;
    for (const field of fields) {
      this.#byName.set(field.name.toLowerCase(), field);
      if (field.heading !== undefined) this.#exact.set(field.heading, field);
    }
    // An export has the names, so they come before headings.
    for (const field of fields) this.#exact.set(field.name, field);
  }

  /** Undefined for the heading of no column. Throws a `TableFault` where it does not tell which one is meant. */
  find(heading: string, line: number): TableField | undefined {
    const known = this.#found.get(heading);
    if (known !== undefined) return known;
    const own = this.#exact.get(heading) ?? this.#byName.get(heading.toLowerCase());
    const field = own ?? this.#alike(heading, line);
    if (field === undefined) return undefined;
    this.#claim(field, { heading, isAlike: own === undefined }, line);
    this.#found.set(heading, field);
    return field;
  }

  #alike(heading: string, line: number): TableField | undefined {
    const name = toColumnName(heading);
    const field = this.#byName.get(name.toLowerCase());
    if (field === undefined) return undefined;
    const others = this.#fields.filter((other) => isNumbered(other.name, name));
    if (others.length === 0 && field.heading === undefined) return field;
    throw unclear(heading, [field, ...others], line);
  }

  #claim(field: TableField, claim: Claim, line: number): void {
    const before = this.#claims.get(field.name);
    if (before === undefined) this.#claims.set(field.name, claim);
    else if (before.isAlike || claim.isAlike) {
      throw unclear(before.isAlike ? before.heading : claim.heading, [field], line);
    }
  }
}

function unclear(heading: string, fields: readonly TableField[], line: number): TableFault {
  const names = fields.map(({ name }) => `'${name}'`).join(" or ");
  return new TableFault(
    `Line ${line}: the heading '${shown(heading)}' does not tell whether ${names} is meant; write the name of the column.`,
    { column: heading },
  );
}
