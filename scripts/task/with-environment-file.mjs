import { loadEnvironmentFile } from "./load-environment-file.mjs";

// Preloaded into the programs that a container runs without a task.
loadEnvironmentFile();
