/** What the global options say about what is shown, and how. */
export interface DisplaySettings {
  readonly json: boolean;
  /** `--log-format json`. */
  readonly logJson?: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly color: boolean;
  readonly progress: 'auto' | 'always' | 'never';
}
