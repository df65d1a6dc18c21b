/** A completion script for PowerShell from 5.1 on, which asks the program at each Tab. */
export const powershellCompletion = (): string =>
  `# Completion of engagectl for PowerShell. Load it in $PROFILE with:
# engagectl completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName engagectl -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  engagectl __complete line -- "=$wordToComplete" $words 2>$null | ForEach-Object {
    $text = if ($_ -match '\\s') { "'$_'" } else { $_ }
    [System.Management.Automation.CompletionResult]::new($text, $_, 'ParameterValue', $_)
  }
}
`;
