// What `svc mcp` may do with an agent credential, as its row holds it.

/** In the syntax of the options of `svc mcp`. */
export interface McpLimits {
  /** `--bind` */
  bindings: string[];
  /** `--allow-host` */
  hosts: string[];
  /** `--allow-run` */
  run: boolean;
  /** `--allow-command`; null for every program. */
  commands: string[] | null;
  /** `--allow-read` */
  read: boolean;
}
