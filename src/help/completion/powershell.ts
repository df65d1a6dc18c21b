/**
 * Generates a completion script for PowerShell 5.1 or newer, which calls the program on each Tab. There,
 * npm's engagectl is itself a PowerShell script: `--` is quoted, or PowerShell consumes it, and the
 * words are splatted, or they arrive as one. PowerShell 5.1 passes double quotes on unescaped, so none
 * are passed. Candidates are ASCII, because a console need not read UTF-8.
 */
export const powershellCompletion = (): string =>
  String.raw`# Completion of engagectl for PowerShell. Load it in $PROFILE with:
# engagectl completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName engagectl -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $word = $wordToComplete -replace '[''"]'
  $others = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object {
    $_.Extent.EndOffset -lt $cursorPosition -or $_.Extent.StartOffset -ge $cursorPosition
  })
  $before = @($others | Where-Object { $_.Extent.EndOffset -lt $cursorPosition }).Count
  $words = @($others | ForEach-Object {
    $isText = $_ -is [System.Management.Automation.Language.StringConstantExpressionAst]
    $(if ($isText) { $_.Value } else { $_.ToString() }) -replace '"'
  })
  engagectl __complete line '--' $before "=$word" @words 2>$null | ForEach-Object {
    $name = [regex]::Unescape($_)
    # No name fits, and no file is meant: PowerShell would offer files if it got nothing.
    if ($name -eq '') { return '' }
    $text = if ($name -match '^[\w./:=-]+$') { $name } else { "'$name'" }
    [System.Management.Automation.CompletionResult]::new($text, $name, 'ParameterValue', $name)
  }
}
`;
