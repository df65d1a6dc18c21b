import { Option } from 'commander';

/** Flag of the commands that can write a page about their run. */
export interface ReportFlag {
  readonly report?: string;
}

export const reportOption = (): Option =>
  new Option(
    '--report <file.html>',
    'write a page about the run: figures, charts over time, samples of rejects',
  ).helpGroup('Report:');
