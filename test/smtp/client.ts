/** A raw client of a door whose every received byte is at hand. */
import { connect } from 'node:net'
import { eventually } from '../parts/eventually.js'
import { PASSWORD } from './doors.js'

export const dial = (port: number) => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let heard = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    heard += chunk
  })
  socket.on('error', () => {})
  const until = async (pattern: RegExp): Promise<string> => {
    await eventually(String(pattern), () => pattern.test(heard) || socket.closed, {
      every: 1,
      seen: () => heard,
    })
    return heard
  }
  const closed = async (): Promise<string> => {
    if (!socket.closed) await new Promise((resolve) => socket.on('close', resolve))
    return heard
  }
  return { socket, until, closed, heard: () => heard }
}

export type Client = ReturnType<typeof dial>

/** A client that a proxy brings from this address. */
export const dialFrom = (port: number, ip: string): Client => {
  const client = dial(port)
  const family = ip.includes(':') ? `TCP6 ${ip} ::1` : `TCP4 ${ip} 127.0.0.1`
  client.socket.write(`PROXY ${family} 40000 25\r\n`)
  return client
}

const AUTH = `AUTH PLAIN ${Buffer.from(`\0me\0${PASSWORD}`).toString('base64')}\r\n`
export const HELLO = `EHLO x\r\n${AUTH}`
export const ENVELOPE = 'MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\n'
