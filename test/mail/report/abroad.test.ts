/** Notices in the reader's language, without any code: who is meant, dead or full, or merely late. */
import t from 'tap'
import { readReport } from '../../../src/mail/report/read-report.js'

interface Tongue {
  readonly subject: string
  readonly opening: string
  readonly unknown: readonly string[]
  readonly full: readonly string[]
  readonly sender: string
}

const TONGUES: Readonly<Record<string, Tongue>> = {
  de: {
    subject: 'Ihre Nachricht konnte nicht zugestellt werden',
    opening: 'Ihre E-Mail konnte an diese Adresse nicht zugestellt werden:',
    unknown: ['Die E-Mail-Adresse wurde nicht gefunden.', 'Das Postfach ist nicht vorhanden.'],
    full: ['Das Postfach des Empfängers ist voll.', 'Das Speicherlimit des Postfachs wurde überschritten.'],
    sender: 'Die Absenderadresse wurde nicht gefunden.',
  },
  fr: {
    subject: 'Échec de la remise du message',
    opening: "Votre message n'a pas pu être remis au destinataire suivant :",
    unknown: [
      "L'adresse de messagerie est introuvable.",
      "L'utilisateur n'est pas répertorié dans l'annuaire.",
    ],
    full: ['La boîte aux lettres du destinataire est pleine.'],
    sender: "L'adresse de l'expéditeur est introuvable.",
  },
  es: {
    subject: 'Error en la entrega del mensaje',
    opening: 'No se pudo entregar el mensaje al siguiente destinatario:',
    unknown: ['No se encontró la dirección de correo electrónico.', 'La cuenta de correo no existe.'],
    full: ['El buzón del destinatario está lleno.', 'El destinatario ha superado su cuota.'],
    sender: 'La dirección del remitente no existe.',
  },
  it: {
    subject: 'Mancato recapito del messaggio',
    opening: 'Non è stato possibile recapitare il messaggio al seguente destinatario:',
    unknown: ["L'indirizzo di posta elettronica non è stato trovato.", 'Utente inesistente.'],
    full: ['La casella di posta del destinatario è piena.'],
    sender: "L'indirizzo del mittente non è stato trovato.",
  },
  pt: {
    subject: 'Falha na entrega da mensagem',
    opening: 'Não foi possível entregar sua mensagem ao seguinte destinatário:',
    unknown: ['O endereço de e-mail não foi encontrado.', 'A conta não existe.'],
    full: ['A caixa de correio do destinatário está cheia.'],
    sender: 'O endereço do remetente não foi encontrado.',
  },
  nl: {
    subject: 'Uw bericht kon niet worden bezorgd',
    opening: 'Uw bericht kon niet worden afgeleverd bij:',
    unknown: ['Het e-mailadres is niet gevonden.', 'Het postvak bestaat niet.'],
    full: ['Het postvak van de ontvanger is vol.'],
    sender: 'Het e-mailadres van de afzender is niet gevonden.',
  },
  sv: {
    subject: 'Det går inte att leverera: Kvitto',
    opening: 'Ditt meddelande kunde inte levereras till följande mottagare:',
    unknown: ['E-postadressen hittades inte.', 'Okänd mottagare.'],
    full: ['Mottagarens postlåda är full.'],
    sender: 'Avsändarens adress hittades inte.',
  },
  da: {
    subject: 'Meddelelsen kunne ikke leveres',
    opening: 'Din meddelelse kunne ikke leveres til:',
    unknown: ['E-mailadressen blev ikke fundet.', 'Brugeren findes ikke.'],
    full: ['Modtagerens postkasse er fuld.'],
    sender: 'Afsenderens adresse blev ikke fundet.',
  },
  pl: {
    subject: 'Nie można dostarczyć wiadomości',
    opening: 'Wiadomość nie została dostarczona do następującego adresata:',
    unknown: ['Nie znaleziono adresu e-mail.', 'Użytkownik nie istnieje.'],
    full: ['Skrzynka odbiorcy jest pełna.'],
    sender: 'Adres nadawcy nie istnieje.',
  },
  cs: {
    subject: 'Zprávu nelze doručit',
    opening: 'Vaši zprávu se nepodařilo doručit následujícímu příjemci:',
    unknown: ['E-mailová adresa nebyla nalezena.', 'Uživatel neexistuje.'],
    full: ['Schránka příjemce je plná.'],
    sender: 'Adresa odesílatele neexistuje.',
  },
  ru: {
    subject: 'Сообщение не доставлено',
    opening: 'Ваше сообщение не доставлено следующему получателю:',
    unknown: ['Адрес электронной почты не найден.', 'Нет такого пользователя.'],
    full: ['Почтовый ящик получателя переполнен.', 'Превышена квота почтового ящика.'],
    sender: 'Адрес отправителя не найден.',
  },
  ja: {
    subject: 'メールを配信できませんでした',
    opening: '次の宛先にメールを配信できませんでした。',
    unknown: ['宛先のメールアドレスが見つかりません。', 'ユーザーが存在しません。'],
    full: ['受信者のメールボックスがいっぱいです。'],
    sender: '差出人のアドレスが存在しません。',
  },
  zh: {
    subject: '邮件投递失败',
    opening: '您的邮件无法投递到以下收件人:',
    unknown: ['收件人不存在。', '找不到该电子邮件地址。'],
    full: ['收件人邮箱已满。', '对方邮箱空间不足。'],
    sender: '发件人地址不存在。',
  },
  ko: {
    subject: '메일 전송 실패',
    opening: '다음 수신자에게 메일을 전달할 수 없습니다:',
    unknown: ['받는 사람의 전자 메일 주소를 찾을 수 없습니다.', '존재하지 않는 사용자입니다.'],
    full: ['받는 사람의 사서함이 가득 찼습니다.'],
    sender: '보낸 사람의 주소를 찾을 수 없습니다.',
  },
}

const read = (subject: string, opening: string, words: string) =>
  readReport(
    Buffer.from(
      `From: mailer-daemon@peer.test\nTo: b3x9@bounce.shop.test\nSubject: ${subject}\n` +
        `Content-Type: text/plain; charset=utf-8\n\n${opening}\n\nann@peer.test\n\n${words}\n`,
    ),
  )

for (const [tongue, { subject, opening, unknown, full, sender }] of Object.entries(TONGUES)) {
  t.test(tongue, async (t) => {
    const judged = async (words: string) => {
      const { kind, recipients } = await read(subject, opening, words)
      t.equal(kind, 'bounce', words)
      return recipients.map((one) => [one.address, one.category])
    }
    for (const words of unknown) t.same(await judged(words), [['ann@peer.test', 'unknown_user']], words)
    for (const words of full) t.same(await judged(words), [['ann@peer.test', 'mailbox_full']], words)
    t.same(await judged(sender), [['ann@peer.test', 'sender_rejected']], 'our own address is no death')
  })
}

t.test('a delay is a delay', async (t) => {
  for (const [subject, opening, words] of [
    [
      'Delivery problem',
      'This message could not be sent so far:',
      'This is just a warning, you do not need to take any action.',
    ],
    [
      'Doručení zprávy se opozdilo',
      'Zpráva zatím nebyla doručena:',
      'Server se bude dál pokoušet o doručení.',
    ],
    ['İletinin teslimi gecikti', 'İletiniz henüz teslim edilmedi:', 'Sunucu denemeye devam edecek.'],
    ['Viestin toimitus viivästyy', 'Viestiä ei ole vielä toimitettu:', 'Palvelin jatkaa yrittämistä.'],
    ['A kézbesítés késik', 'Az üzenetet még nem sikerült kézbesíteni:', 'A kiszolgáló tovább próbálkozik.'],
  ] as const)
    t.equal((await read(subject, opening, words)).kind, 'delay', subject)
})
