import { describe, expect, it } from "vitest";
import { checkMysql } from "../../../../src/lib/sql-gate/tokens/check-mysql.ts";
import { checkSqlite } from "../../../../src/lib/sql-gate/tokens/check-sqlite.ts";
import { createRandom } from "../../../support/faults/random.ts";
import {
  type Mutation,
  MYSQL_NAMES,
  mutateStatement,
  SQLITE_NAMES,
} from "../../../support/sql/mutate-statement.ts";
import {
  MYSQL_ONLY_READS,
  MYSQL_READS,
  MYSQL_REFUSED,
} from "../../../support/sql/mysql-statements.ts";
import { SQLITE_READS, SQLITE_REFUSED } from "../../../support/sql/sqlite-statements.ts";

const SEED = 20_261_123;
const MUTATIONS = 40;
const policy = { maxBytes: 16_384 };

interface Dialect {
  readonly name: string;
  readonly check: (sql: string) => ReturnType<typeof checkSqlite>;
  readonly reads: readonly string[];
  readonly refused: readonly string[];
  readonly names: Mutation["names"];
}

const dialects: readonly Dialect[] = [
  {
    name: "MySQL and MariaDB",
    check: (sql) => checkMysql(sql, policy, "shop"),
    reads: [...MYSQL_READS, ...MYSQL_ONLY_READS],
    refused: MYSQL_REFUSED,
    names: MYSQL_NAMES,
  },
  {
    name: "SQLite",
    check: (sql) => checkSqlite(sql, policy),
    reads: SQLITE_READS,
    refused: SQLITE_REFUSED,
    names: SQLITE_NAMES,
  },
];

describe.each(dialects)("The gate of $name", ({ check, reads, refused, names }) => {
  it("passes what people write to read", () => {
    expect(reads.length).toBeGreaterThan(40);
    const failures = reads.map((sql) => [sql, check(sql).refusal]).filter(([, why]) => why);
    expect(failures).toEqual([]);
  });

  it("refuses whatever does more than read, with a hint", () => {
    expect(refused.length).toBeGreaterThan(75);
    for (const sql of refused) {
      expect([sql, check(sql).refusal]).toEqual([
        sql,
        {
          message: expect.stringMatching(/^.{8,300}$/s),
          hint: expect.stringMatching(/^.{8,200}$/),
        },
      ]);
    }
  });

  it("refuses a statement in whatever form it is written", () => {
    const random = createRandom(SEED);
    // A comment could close a quotation that is open.
    for (const sql of refused.filter((one) => !/no end/.test(one))) {
      for (let count = 0; count < MUTATIONS; count += 1) {
        const changed = mutateStatement(sql, random, names);
        if (check(changed).refusal === undefined) {
          expect.fail(`seed ${SEED}: passed ${JSON.stringify(changed)}`);
        }
      }
    }
  });

  it("passes a reading statement in whatever form it is written", () => {
    const random = createRandom(SEED);
    for (const sql of reads.filter((one) => !/#|--|'/.test(one))) {
      for (let count = 0; count < MUTATIONS; count += 1) {
        const changed = mutateStatement(sql, random, []);
        expect([changed, check(changed).refusal]).toEqual([changed, undefined]);
      }
    }
  });

  it("says what a statement does", () => {
    expect(check("select 1").statement).toBe("select");
    expect(check("explain select 1").statement).toBe("explain");
    expect(check(`select '${"x".repeat(16_384)}'`).refusal?.message).toMatch(/16393 bytes/);
  });
});

describe("The gate of MySQL and MariaDB", () => {
  it("refuses a connection whose own database is the server's", () => {
    for (const database of ["mysql", "MySQL", "sys", "performance_schema", "information_schema"]) {
      expect(checkMysql("select * from user", policy, database).refusal?.message).toMatch(
        /the server's own/,
      );
    }
    expect(checkMysql("show tables", policy, undefined).statement).toBe("show");
  });
});
