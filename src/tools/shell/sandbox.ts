import { existsSync, lstatSync, readlinkSync } from "node:fs";
import { isBelow } from "../../knowledge/file-connections.ts";

/** Where a command finds the workspace, whatever its path is on the server. */
export const WORKSPACE_IN_SANDBOX = "/workspace";

const MIB = 1024 * 1024;
const TMP_BYTES = 64 * MIB;
const SHARED_MEMORY_BYTES = 16 * MIB;
/**
 * Set inside the sandbox: the system then counts its processes apart from the others of the same user, which could
 * otherwise use up the number, or be kept from starting by a command.
 */
const LIMITS = [
  "--nproc=64",
  // Of one process. Its address space is not limited: runtimes reserve far more of it than they use.
  `--data=${512 * MIB}`,
  `--fsize=${256 * MIB}`,
  "--nofile=256",
  "--core=0",
  "--msgqueue=0",
  "--memlock=0",
];
/**
 * Merges both outputs, closes whatever the server was started with, which it passes on without knowing, and lets the
 * system end the command first when memory runs out.
 */
const BEGIN = [
  "exec 2>&1",
  "for path in {3..255} /proc/self/fd/*; do",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is bash's
  "number=${path##*/}",
  '[[ $number == [0-9]* && $number -gt 2 ]] && eval "exec $number>&-"',
  "done",
  "{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null",
  'exec "$0" -c "$1"',
].join("\n");

/** What of the system a command sees, read-only. */
const SYSTEM_FOLDERS = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/** What programs need to start, and nothing about users or services. */
const SYSTEM_FILES = ["alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime"];

/** The programs that make the sandbox, as absolute paths. */
export interface SandboxPrograms {
  readonly bwrap: string;
  readonly prlimit: string;
  readonly nice: string;
  readonly bash: string;
}

export interface Sandbox {
  readonly programs: SandboxPrograms;
  /** Absolute, free of links. */
  readonly workspace: string;
  /** Folders that a command must not see although they may be in a system folder; absolute, free of links. */
  readonly masked: readonly string[];
  /** Containers often forbid a new /proc. Without it some programs do not work. */
  readonly hasProc: boolean;
}

/** Returns the arguments of bubblewrap for a command of the shell. */
export function sandboxArguments(sandbox: Sandbox, command: string): readonly string[] {
  const { programs, workspace, hasProc } = sandbox;
  return [
    "--unshare-user",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
    // No namespaces of its own: they are most of the kernel that a user does not reach otherwise.
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    ...["--cap-drop", "ALL", "--hostname", "sandbox"],
    ...environment(),
    ...SYSTEM_FOLDERS.flatMap(systemFolder),
    ...SYSTEM_FILES.flatMap((name) => ["--ro-bind-try", `/etc/${name}`, `/etc/${name}`]),
    ...masks(sandbox),
    ...(hasProc ? ["--proc", "/proc"] : ["--dir", "/proc"]),
    "--dev",
    "/dev",
    ...["--size", String(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm"],
    ...["--size", String(TMP_BYTES), "--tmpfs", "/tmp"],
    ...["--bind", workspace, WORKSPACE_IN_SANDBOX],
    // Both are in memory and have no size of their own.
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...["--chdir", WORKSPACE_IN_SANDBOX, "--"],
    ...[programs.nice, "-n", "19", programs.prlimit, ...LIMITS, "--"],
    ...[programs.bash, "-c", BEGIN, programs.bash, command],
  ];
}

function environment(): readonly string[] {
  const variables = {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: "/tmp",
    TMPDIR: "/tmp",
    LANG: "C.UTF-8",
    TERM: "dumb",
  };
  return [
    "--clearenv",
    ...Object.entries(variables).flatMap(([name, value]) => ["--setenv", name, value]),
  ];
}

/** On most systems all but the first are links into it. */
function systemFolder(path: string): readonly string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return [];
  return stat.isSymbolicLink()
    ? ["--symlink", readlinkSync(path), path]
    : ["--ro-bind", path, path];
}

/** Covers what is inside a system folder with an empty one. */
function masks({ masked }: Sandbox): readonly string[] {
  const inSystem = masked.filter(
    (path) =>
      existsSync(path) && SYSTEM_FOLDERS.some((folder) => path !== folder && isBelow(folder, path)),
  );
  const outermost = inSystem.filter(
    (path, index) =>
      !inSystem.some((other, at) => isBelow(other, path) && (other !== path || at < index)),
  );
  return outermost.flatMap((path) => ["--tmpfs", path, "--remount-ro", path]);
}
