import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openFileConnections } from "../../../src/knowledge/file-connections.ts";
import { createLog } from "../../../src/lib/log.ts";
import { openShell } from "../../../src/tools/shell/open-shell.ts";
import { spawnProgram } from "../../support/processes/spawn-program.ts";
import { canMakeSandbox, giveAway, UNPRIVILEGED } from "../../support/processes/unprivileged.ts";
import type { ShellCommand, ShellReport, ShellTrial } from "../../support/programs/run-shell.ts";

const isPossible = canMakeSandbox("the tests of the shell");
let root = "";

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "shell-"));
  giveAway(root);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A DATA_DIR of its own, with a secret; a test that runs once more has another. */
function dataFolder(name: string): string {
  const folder = mkdtempSync(join(root, `${name}-`));
  writeFileSync(join(folder, "secret"), "the-secret-of-the-installation", { mode: 0o644 });
  giveAway(folder);
  return folder;
}

async function run(
  trial: Partial<ShellTrial> & Pick<ShellTrial, "settings">,
  through: readonly string[] = UNPRIVILEGED,
): Promise<readonly ShellReport[]> {
  const program = await spawnProgram(
    "run-shell",
    [JSON.stringify({ commands: [], ...trial })],
    { CANARY: "of-the-environment" },
    through,
  );
  await program.ended;
  return program
    .output()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
}

/** Runs commands one after another; each has a report. */
async function runIn(dataDir: string, commands: readonly ShellCommand[]) {
  const reports = await run({
    settings: { DATA_DIR: dataDir, WORKSPACE_DIR: undefined },
    commands,
  });
  expect(reports).toHaveLength(commands.length);
  return reports;
}

function processesWith(text: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(text);
    } catch {
      return false;
    }
  });
}

describe("The shell", () => {
  it.runIf(process.getuid?.() === 0)("never starts as root", async () => {
    const settings = { DATA_DIR: join(root, "of-root"), WORKSPACE_DIR: undefined };
    const fileConnections = openFileConnections({ ...settings, WATCH_DIRS: [] });
    const log = createLog("silent");
    await expect(openShell({ settings, fileConnections, log })).rejects.toMatchObject({
      name: "StartRefusal",
      message: expect.stringMatching(/never run as root\. Start the server as another user/),
    });
  });

  it.runIf(isPossible)("does not start where it cannot be safe, and says what to do", async () => {
    const dataDir = dataFolder("refused");
    const own = { DATA_DIR: dataDir, WORKSPACE_DIR: undefined };
    const [[missing], [around], [inside]] = await Promise.all([
      run({ settings: own, programFolders: [join(root, "empty")] }),
      run({ settings: { ...own, WORKSPACE_DIR: root } }),
      run({ settings: { ...own, WORKSPACE_DIR: join(dataDir, "files/of-users") } }),
    ]);
    expect(missing?.error).toMatch(
      /StartRefusal.*'bwrap' is missing\. Install the package bubblewrap/,
    );
    expect(around?.error).toMatch(/StartRefusal.*WORKSPACE_DIR.*neither DATA_DIR nor the program/);
    expect(inside?.error).toMatch(/StartRefusal.*WORKSPACE_DIR/);
  });
});

describe.runIf(isPossible)("A command of the shell", () => {
  it("sees the workspace, the system's programs and nothing else", async () => {
    const server = createServer((socket) => socket.end("reached")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const dataDir = dataFolder("seen");
    mkdirSync(join(dataDir, "workspace"), { mode: 0o777 });
    writeFileSync(join(dataDir, "workspace/notes.txt"), "from the workspace");
    giveAway(join(dataDir, "workspace"));
    const [files, writing, surroundings, network, namespaces] = await runIn(dataDir, [
      {
        command: `cat notes.txt; ls -A / /etc; cat ${dataDir}/secret ../secret /etc/passwd /etc/shadow; ls /home /root /var; ln -s ${dataDir}/secret link; cat link`,
      },
      {
        command:
          "echo made > made.txt && cat made.txt; for f in /x /usr/x /etc/x /dev/x; do echo x > $f; done; echo t > /tmp/t && cat /tmp/t",
      },
      {
        command:
          "env; echo open: $(ls /proc/self/fd); cat /proc/1/environ; ls -d /proc/[0-9]* | wc -l; id -u",
      },
      { command: `tail -n +3 /proc/net/dev; exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3` },
      { command: "unshare --user true; unshare --net true; mount -t tmpfs none /tmp" },
    ]);
    server.close();

    expect(files?.output).toContain("from the workspace");
    expect(files?.output).not.toMatch(/the-secret|root:/);
    expect(files?.output).toMatch(/cannot access '\/home'/);
    const [, top = ""] = /\/:\n([\s\S]*?)\n\n/.exec(files?.output ?? "") ?? [];
    expect(
      top.split("\n").filter((name) => !/^(bin|sbin|lib|lib32|lib64|libx32)$/.test(name)),
    ).toEqual(["dev", "etc", "proc", "tmp", "usr", "workspace"]);

    expect(writing?.output).toMatch(/^made\n/);
    expect(writing?.output?.match(/Read-only file system|Permission denied/g)).toHaveLength(4);
    expect(writing?.output).toMatch(/\nt\n$/);
    expect(readFileSync(join(dataDir, "workspace/made.txt"), "utf8")).toBe("made\n");

    expect(surroundings?.output).not.toContain("of-the-environment");
    expect(surroundings?.output).toMatch(/^HOME=\/tmp$/m);
    // Its input, its outputs, and what `ls` itself has opened.
    expect(surroundings?.output).toMatch(/^open: 0 1 2 3$/m);

    expect(network?.output).toMatch(/^\s+lo:/);
    expect(network?.output).not.toContain("eth");
    expect(network?.output).not.toContain("reached");
    expect(network?.exitCode).not.toBe(0);
    expect(namespaces?.exitCode).not.toBe(0);
    expect(namespaces?.output?.match(/unshare failed/g)).toHaveLength(2);
  }, 120_000);

  it("returns its exit code and both outputs in order, and the beginning and end of a long one", async () => {
    const [ordered, long, silent, binary] = await runIn(dataFolder("output"), [
      { command: "echo one; echo two >&2; echo three; exit 7", isTool: true },
      { command: "echo begin; seq 1 100000; echo end" },
      { command: "true", isTool: true },
      { command: String.raw`printf 'a\0b\377c'` },
    ]);
    expect(ordered).toMatchObject({
      output: "Exit code 7. Output:\none\ntwo\nthree\n",
      isError: false,
    });
    expect(long?.output).toMatch(
      /^begin\n1\n[\s\S]*\n\[\d+ bytes were left out here\.\]\n[\s\S]*100000\nend\n$/,
    );
    expect(Buffer.byteLength(long?.output ?? "")).toBeLessThan(65_536 + 100);
    expect(silent?.output).toBe("Exit code 0. It wrote no output.");
    expect(binary?.output).toBe("a\ufffdb\ufffdc");
  }, 120_000);

  it("that forks, floods, kills, fills the memory or the disk is contained", async () => {
    // More processes of the same user than a command may have.
    const crowd = "for i in $(seq 80); do sleep 60 & done; echo ready; wait";
    const [program = "sh", ...rest] = [...UNPRIVILEGED, "sh", "-c", crowd];
    const others = spawn(program, rest, { detached: true, stdio: ["ignore", "pipe", "ignore"] });
    await once(others.stdout, "data");
    const dataDir = dataFolder("contained");
    const [fork, after, flood, slow, kill, hog, hogs, file] = await runIn(dataDir, [
      // It waits without a process of its own until no other can start.
      {
        command:
          "bomb() { bomb | bomb & }; sleep 31415.1 & bomb 2>/tmp/faults; " +
          "until read -r fault </tmp/faults; do :; done; echo $fault",
      },
      { command: "for i in $(seq 20); do sleep 0.1 & done; wait; echo forked" },
      { command: "yes | head -c 1000000000" },
      { command: "sleep 60", timeMs: 300 },
      { command: "sleep 31415.2 & kill -9 -1; echo alive" },
      { command: "dd if=/dev/zero of=/dev/null bs=600M count=1" },
      // Some machines take long to give a process this much memory.
      {
        command: "for i in 1 2 3 4; do dd if=/dev/zero bs=200M count=1 | sleep 400 & done; wait",
        timeMs: 150_000,
      },
      { command: "head -c 300000000 /dev/zero > big; stat -c %s big; rm big" },
    ]);
    if (others.pid !== undefined) process.kill(-others.pid, "SIGKILL");

    // On a busy machine it may be the first shell that cannot fork: it then ends with 254 and without a word.
    expect(fork?.endedFor).toBeUndefined();
    expect([fork?.exitCode, fork?.output]).toEqual(
      fork?.exitCode === 254
        ? [254, expect.any(String)]
        : [0, expect.stringMatching(/Resource temporarily unavailable/)],
    );
    expect(after).toMatchObject({ exitCode: 0, output: "forked\n" });
    expect(flood).toMatchObject({ exitCode: null, endedFor: "output" });
    expect(flood?.growthMb).toBeLessThan(64);
    expect(slow).toMatchObject({ exitCode: null, endedFor: "time", output: "" });
    expect(kill?.output).toBe("alive\n");
    expect(hog?.output).toContain("memory exhausted");
    expect(hogs).toMatchObject({ exitCode: null, endedFor: "memory" });
    expect(file?.output).toMatch(/File size limit exceeded[\s\S]*\n268435456\n$/);
    expect(processesWith("31415.")).toEqual([]);
  }, 240_000);

  it.runIf(UNPRIVILEGED.length > 0)(
    "takes at most half of the disk's free space",
    async () => {
      const dataDir = dataFolder("disk");
      const workspace = join(dataDir, "workspace");
      mkdirSync(workspace);
      const mount = [
        "unshare",
        "-m",
        "sh",
        "-c",
        'mount -t tmpfs -o size=64m,mode=777 t "$0" && exec "$@"',
      ];
      const [report] = await run(
        {
          settings: { DATA_DIR: dataDir, WORKSPACE_DIR: undefined },
          commands: [
            {
              command:
                "for i in $(seq 15); do head -c 4000000 /dev/zero > f$i; sleep 0.2; done; sleep 60",
              timeMs: 40_000,
            },
          ],
        },
        [...mount, workspace, ...UNPRIVILEGED],
      );
      expect(report).toMatchObject({ exitCode: null, endedFor: "disk" });
    },
    60_000,
  );

  it("ends with its background processes, and at once when the call is aborted or the server dies", async () => {
    const dataDir = dataFolder("ended");
    const [background, aborted] = await runIn(dataDir, [
      { command: "setsid sleep 27182.1 & nohup sleep 27182.2 >/dev/null 2>&1 & echo started" },
      { command: "setsid sleep 27182.3 & touch begun; sleep 27182.4", abortOn: "begun" },
    ]);
    expect(background).toMatchObject({ exitCode: 0, output: "started\n" });
    expect(aborted?.error).toContain("the client left");
    expect(aborted?.abortMs).toBeLessThan(10_000);

    const settings = { DATA_DIR: dataDir, WORKSPACE_DIR: undefined };
    const commands = [{ command: "setsid sleep 27182.5 & echo $$ > server-dies; sleep 27182.6" }];
    const trial = JSON.stringify({ settings, commands });
    const server = await spawnProgram("run-shell", [trial], {}, UNPRIVILEGED);
    await expect.poll(() => processesWith("sleep\x0027182.5").length, { timeout: 20_000 }).toBe(1);
    server.child.kill("SIGKILL");
    await server.ended;
    await expect.poll(() => processesWith("27182."), { timeout: 10_000 }).toEqual([]);
  }, 120_000);
});
