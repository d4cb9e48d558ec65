import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Metric } from "../../../src/core/metric.ts";
import { hasPromtool, lintMetrics, runPromtool } from "../../support/processes/promtool.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { type ServedDeps, serveDeps } from "../../support/stages/served-deps.ts";

const RULES = "docs/prometheus-alerts.yml";
const RULES_TESTS = [
  "tests/operations/metrics/alert-rules.yml",
  "tests/operations/metrics/alert-rules-firing.yml",
];
const DASHBOARD = "docs/grafana-dashboard.json";
if (!hasPromtool) process.stderr.write("promtool is not on PATH: its checks are left out\n");

describe.runIf(hasPromtool)("promtool", () => {
  it("finds what is wrong, where something is", async () => {
    const { code, said } = await lintMetrics("# TYPE svc_tries counter\nsvc_tries 1\n");
    expect(code).toBe(3);
    expect(said).toContain('counter metrics should have "_total" suffix');
  });

  it("takes the alert rules", async () => {
    const { code, said } = await runPromtool(["check", "rules", RULES]);
    expect(said).toMatch(/SUCCESS: \d+ rules found/);
    expect(code).toBe(0);
  });

  it.each(RULES_TESTS)("sees the rules fire as %s tells", async (file) => {
    const { code, said } = await runPromtool(["test", "rules", file]);
    expect([code, said]).toEqual([0, expect.stringContaining("SUCCESS")]);
  });
});

let gateway: ServedDeps;
let metrics: readonly Metric[];
/** All names under which a metric has lines. */
let served: ReadonlySet<string>;
beforeAll(async () => {
  gateway = await serveDeps(databaseServerUrl);
  metrics = gateway.deps.parts.flatMap((part) => part.metrics ?? []);
  served = new Set(metrics.flatMap(linesOf));
});
afterAll(() => gateway?.close());

function linesOf({ name, type }: Metric): readonly string[] {
  if (type === "histogram") return [`${name}_bucket`, `${name}_sum`, `${name}_count`];
  return type === "summary" ? [name, `${name}_sum`, `${name}_count`] : [name];
}
const named = (text: string) => [...new Set(text.match(/\bsvc_[a-z0-9_]+/g) ?? [])];

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string; readonly datasource: object }[];
}

describe("the alert rules", () => {
  it("name only metrics that are served, and each has what an operator needs", async () => {
    const text = await readFile(RULES, "utf8");
    const rules = text.split(/^ {6}- alert: /m).slice(1);
    expect(rules.length).toBeGreaterThan(10);
    expect(named(text).filter((name) => !served.has(name))).toEqual([]);
    const tests = await Promise.all(RULES_TESTS.map((file) => readFile(file, "utf8")));
    for (const rule of rules) {
      const alert = rule.slice(0, rule.indexOf("\n"));
      expect(tests.join().match(/\bGateway\w+/g), "a test that it fires").toContain(alert);
      expect(named(rule).length, rule).toBeGreaterThan(0);
      expect(rule).toMatch(/^ {10}severity: (critical|warning)$/m);
      expect(rule).toMatch(/^ {10}summary: "[A-Z{].*\."$/m);
      expect(rule).toMatch(/^ {10}description: "[A-Z].*\."$/m);
    }
  });
});

describe("the dashboard", () => {
  it("names metrics of the table alone, over a data source that is chosen", async () => {
    const text = await readFile(DASHBOARD, "utf8");
    const dashboard = JSON.parse(text) as {
      readonly id?: number;
      readonly panels: readonly Panel[];
      readonly templating: {
        readonly list: readonly { readonly name: string; readonly type: string }[];
      };
    };
    expect(named(text).filter((name) => !served.has(name))).toEqual([]);
    expect(dashboard.id).toBeUndefined();
    expect(dashboard.templating.list).toContainEqual(
      expect.objectContaining({ name: "datasource", type: "datasource", query: "prometheus" }),
    );
    const panels = dashboard.panels.filter(({ type }) => type !== "row");
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    for (const { title, datasource, targets = [] } of panels) {
      expect(datasource?.uid, title).toMatch(/^\$\{datasource\}$/);
      expect([title, targets.length > 0]).toEqual([title, true]);
      for (const { expr } of targets) expect(expr).toContain('instance=~"$instance"');
    }
  });

  it("shows every metric", async () => {
    const shown = new Set(named(await readFile(DASHBOARD, "utf8")));
    const missing = metrics.filter(({ name }) => !shown.has(name) && !shown.has(`${name}_bucket`));
    expect(missing.map(({ name }) => name)).toEqual([]);
  });
});
