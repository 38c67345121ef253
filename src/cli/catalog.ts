/**
 * NAME      catalog - every command there is
 */
import type { Catalog } from './command.js'

export const CATALOG: Catalog = [
  {
    name: 'dev',
    summary: 'Try it: loopback only, mail goes to the built-in sandbox',
    load: async () => (await import('./dev.js')).devCommand,
  },
  {
    name: 'serve',
    summary: 'Run the daemon',
    load: async () => (await import('./serve.js')).serveCommand,
  },
  {
    name: 'workspace',
    summary: 'Sending tenants: list, show, create, update',
    load: async () => (await import('./workspace.js')).workspaceSubject,
  },
  {
    name: 'key',
    summary: 'API keys: list, create, revoke',
    load: async () => (await import('./key.js')).keySubject,
  },
  {
    name: 'credential',
    summary: 'SMTP names and passwords: list, create, import, revoke',
    load: async () => (await import('./credential.js')).credentialSubject,
  },
  {
    name: 'pool',
    summary: 'Upstream mail servers: list, show, create, update, delete',
    load: async () => (await import('./pool.js')).poolSubject,
  },
  {
    name: 'version',
    summary: 'Which Postern this is',
    load: async () => (await import('./version.js')).versionCommand,
  },
]
