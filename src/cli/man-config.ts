/**
 * NAME      man-config - the manual page of the configuration, made from the schema
 */
import { DEFAULT_FILE } from '../config/load.js'
import { settings } from '../config/reference.js'
import { esc } from './roff.js'
import { versionText } from './version.js'

export const configPage = (): string =>
  [
    `.TH POSTERN.YAML 5 "" "postern ${versionText()}" "File Formats"`,
    '.ad l',
    '.SH NAME',
    'postern.yaml \\- configuration of postern',
    '.SH DESCRIPTION',
    'YAML. Every setting has a default. A flag wins over the environment, that over the file, that over the default.',
    'Durations are written 90s, 5m, 4h, 5d; sizes 64KiB, 25MiB. Relative paths are taken from the folder of the file;',
    'a path that begins with $CREDENTIALS_DIRECTORY/ names a credential of systemd.',
    'postern config check names every mistake with its line.',
    '.SH SETTINGS',
    ...settings().flatMap(({ key, description, form, preset, variable }) => [
      '.TP',
      `.B ${esc(key)}`,
      `${esc(description)}.`,
      ...(preset === null
        ? []
        : ['.br', esc(`${form}, default ${preset}${variable ? `, ${variable}` : ''}`)]),
    ]),
    '.SH FILES',
    `.TP\n.I ${DEFAULT_FILE}\nRead when neither \\-\\-config nor POSTERN_CONFIG names another.`,
    '.SH SEE ALSO',
    '.BR postern (1),\n.BR systemd.exec (5)',
  ].join('\n')
