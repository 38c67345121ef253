/**
 * A program: opens connections and says nothing, from these addresses in turns.
 * `knocker.js HOST PORT COUNT PER_SECOND ADDRESS...` holds what is let in until
 * its standard input ends, and says every 200 ms how many first replies it heard.
 */
import { connect, type Socket } from 'node:net'

const [host = '', port = '', count = '', perSecond = '', ...addresses] = process.argv.slice(2)
const heard = { opened: 0, greeted: 0, refused: 0, put_out: 0, failed: 0 }
const open = new Set<Socket>()

const knock = (i: number): void => {
  const localAddress = addresses[i % addresses.length]
  const socket = connect({ host, port: Number(port), ...(localAddress && { localAddress }) })
  let isGreeted = false
  heard.opened++
  open.add(socket)
  socket.on('data', (chunk: Buffer) => {
    for (const line of chunk.toString('latin1').split('\r\n')) {
      if (line.startsWith('220')) {
        heard.greeted++
        isGreeted = true
      } else if (line.startsWith('421')) heard[isGreeted ? 'put_out' : 'refused']++
    }
  })
  socket.on('error', () => heard.failed++)
  socket.on('close', () => open.delete(socket))
}

const say = (): void => console.log(JSON.stringify(heard))
const teller = setInterval(say, 200)
const began = performance.now()
let knocked = 0
const knocking = setInterval(() => {
  const due = Math.min(Number(count), ((performance.now() - began) / 1000) * Number(perSecond))
  while (knocked < due) knock(knocked++)
}, 5)
process.stdin.resume()
process.stdin.on('end', () => {
  clearInterval(knocking)
  clearInterval(teller)
  say()
  for (const socket of open) socket.destroy()
})
