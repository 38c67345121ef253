/**
 * NAME      phrases - how MTAs speak to people
 *   The words by which a notice for people is known: who writes it, how it opens, where the returned message
 *   begins, and whether it tells of a failure or of a delay. Data only; a new dialect is a new line here.
 *   Patterns are tested against single lines or a bounded, lower-case text.
 */
import { anyOf } from './mime.js'

/** Local parts and names that programs write under. */
export const ROBOT = anyOf(
  /mailer[-_. ]?daemon|mail[-_. ]?daemon|post[-_]?master|mdaemon/i,
  /mail(?:er)?[-_. ](?:delivery|deliver|administrator|admin|system)/i,
  /delivery[-_. ](?:system|subsystem|agent|notification|failure|status|service)/i,
  /^<?(?:ndr|bounces?|daemon|mta|root|no-?reply-?bounce|system-?administrator|maildelivery|autoreply-bounce|non-?delivery)@/i,
  /system administrator|mail system|undeliver|interscan|anti-?virus|\bndr\b|smtp gateway|gateways?@/i,
  /mail ?sweeper|memo service|\bmmdf\b|returned mail|bounce|\bdaemon|mail ?(?:router|server|gateway)|\bmta\b|\bsmtp\b/i,
  /^<?(?:administrator|mailadmin|mail-?system|mailmaster|hostmaster|smtp|sys-?admin|mailer)@|e-?mail (?:delivery|system)/i,
  /mail-?(?:robot|hub|relay|agent)\b|servidor de (?:correo|e-?mail)|serveur de (?:messagerie|courrier)|server di posta|mailsystem|почтов\S{1,3} (?:сервер|систем|робот)/i,
)

/** Not delivered, or not to be delivered, in languages that have no line of their own below. */
const NOT_DELIVERED = [
  /δεν (?:μπόρεσε|ήταν δυνατ|κατέστη|παραδόθηκ)|αποτυχία παράδοσης|αδύνατη η παράδοση/i,
  /nu (?:a|s-a|au) (?:putut|fost) (?:fi )?(?:livra|trimis|transmis)|livrare(?:a)? (?:a )?eșuat|nelivrat/i,
  /không (?:thể )?(?:gửi|chuyển|phát) (?:được|thư)|gửi thư thất bại|tidak (?:dapat|bisa|berhasil) (?:dikirim|terkirim|disampaikan)|tidak terkirim|gagal (?:dikirim|terkirim)/i,
  /לא (?:ניתן|נמסרה|הצלחנו)|(?:تعذر|لم يتم|فشل) (?:تسليم|إرسال|توصيل)|(?:تحویل|ارسال) (?:داده )?نشد/i,
  /(?:nije|nisu) (?:moguće? |mogla |mogao )?(?:isporuč|dostav)|nedostavljen|ni (?:bilo mogoče|bilo mogoce) dostaviti|neisporučen/i,
  /(?:nemohla|nebolo možné|nepodarilo sa) [^.]{0,20}doruč|nedoručiteľn|не може(?: да)? (?:бъде|бути) (?:доставен|доставлен)|не (?:беше|бе|вдалося) достав/i,
  /(?:ei|pole) (?:õnnestunud|saanud) [^.]{0,20}(?:kohale|toimeta)|ei saanud kohale|neizdevās (?:piegād|nosūt)|nepavyko pristatyti|nepristatyt/i,
  /no s'ha pogut (?:lliurar|entregar)|ไม่สามารถ(?:จัด)?ส่ง|(?:वितरित|डिलीवर) नहीं|ekki (?:tókst|hægt) að (?:afhenda|senda)/i,
]

/** The same of mail that is late. */
const LATE = [
  /καθυστ[εέ]ρ|δεν έχει παραδοθεί ακόμ|întârzi|încă nu a fost|bị (?:trì hoãn|chậm)|chưa (?:được )?gửi|tertunda|belum (?:dapat )?(?:terkirim|dikirim)/i,
  /מתעכב|עיכוב|تأخر|تأخير|(?:isporuka|dostava) kasni|odgođen|zakasn|oneskoren|meškan|забав|затрим|viivitus|hilin|aizkav|vėluoj|endarrer|ล่าช้า|विलंब/i,
]

export const BOUNCE_SUBJECT = anyOf(
  /undeliver|not deliver|non[- ]?deliver|ndn:|ndr:/i,
  /deliver(?:y|ies|ing)?\b.{0,30}(?:fail|error|problem|report|notif|status|delay|warning|unable|suspend|impossible)/i,
  /(?:fail|error|problem|unable|trouble|cannot|could ?n[o']t|warning)\w*\b.{0,40}(?:deliver|sending (?:your )?mail|mail)/i,
  /mail (?:delivery |transfer |system |server )?(?:fail|error|warning|problem|not)/i,
  /(?:failure|error|bounce|delay|failed) (?:notice|notification|message|delivery|mail)/i,
  /return(?:ed|ing)? (?:mail|message|e-?mail|to sender)|returned:|user unknown/i,
  /unknown (?:user|recipient|address)|no such (?:user|mailbox|recipient)/i,
  /message (?:delivery|could not|not|status|undeliver|delay|bounce)/i,
  /(?:mail|message|e-?mail)\b.{0,60}(?:could not be|not be|delayed|returned|rejected|was not|undeliver)/i,
  /^failure notice|nondeliverable|mail[- ]?system|unzustellbar|zustell/i,
  /nicht (?:zugestellt|ausgeliefert)|retourn|non (?:remis|distribu|deliv)|échec|mancata consegna/i,
  /rückmeldung|no (?:se (?:ha )?pudo |)entrega|notificaci[oó]n de (?:estado|entrega)|devuel/i,
  /nicht zustellbar|недостав|не доставлен|доставк|退信|失败|失敗|配信|エラー|配達|送信|送達|返送|système de/i,
  /delivery status|^\[bounce\]|not member article|mail delivery problem|^(?:relayed|delivered|expanded|delayed): /i,
  // Exchange and others, in the language of the reader
  /onbestelbaar|niet (?:bezorgd|afgeleverd)|non recapit|consegna (?:fallita|non riuscita)|no se (?:puede|pudo) entregar/i,
  /não (?:é possível entregar|foi possível|entreg)|nie można dostarczyć|niedostarcz|nedoručiteln|nedoručen/i,
  /olevererba|kunde inte levereras|kan ikke leveres|ikke levert|ei voi(?:tu|da) toimittaa|toimittamat/i,
  /[ée]chec d|g[åa]r inte att leverera|kunne ikke leveres|kon niet worden (?:bezorgd|afgeleverd)|nelze doručit|(?:error|fallo)[^.]{0,20} entrega/i,
  /teslim edilemedi|kézbesít|配信不能|無法|无法(?:送达|投递)|未送达|退回|반송|배달되지|전송 실패|не удалось доставить/i,
  /retard|retraso|vertraagd|vertraagde|ritard|atrasad|adiad|försenad|forsinket|opóźni|zpožd|opozdil|gecik|viivästy|késik|遅延|遅れ|延迟|задерж|지연/i,
  ...NOT_DELIVERED,
  ...LATE,
)

export const FORWARDED_SUBJECT = /^\s*(?:re|fw|fwd|aw|wg|tr|rv|enc|sv|vs|antw|odp|i|r)\s*(?:\[\d+\])?\s*:/i

/** A person who shows a notice; programs that sign with plain names do not speak of themselves so. */
export const MYSELF = anyOf(
  /\b(?:my (?!delivered-to)|mine\b|myself\b|(?:to|told|help|give|tell) me\b|i (?:get|got|see|saw|want|think|know)\b|i don['’]t\b)/iu,
  /(?<!\p{L})(?:mir|mich|meine?[nrsm]?|habe ich|ich (?:habe|bekam|bekomme|wollte|verstehe|sehe))(?!\p{L})/iu,
  /(?<!\p{L})(?:(?:he|hemos) recibido|recib[ií]|ho ricevuto|abbiamo ricevuto|recebi|(?:kreeg|heb|ontving) ik|ik (?:kreeg|heb|ontving)|(?:jag|jeg) (?:fick|fik|fikk)|dostał[ae]m|otrzymał[ae]m)(?!\p{L})/iu,
  /(?<!\p{L})(?:mon (?:message|mail|courriel|adresse|compte)|moi|j['’]ai|mío?|mio|miei|meu|minha|mijn|mój|moje|můj|мой|моя|моё|мне|у меня)(?!\p{L})/iu,
)

/** An answer, and nothing that somebody passes on. */
export const ANSWERED_SUBJECT = /^\s*(?:re|aw|antw|sv|r)\s*(?:\[\d+\])?\s*:/i

/** The mail of the one who is written to. */
export const YOUR_MAIL =
  /\b(?:your|ihre?|votre|su|tu|(?:il )?(?:suo|vostro|tuo)|o? ?sua|uw|din|ditt|twoja|vaše) (?:last |e-?)?(?:e-?mail|mail|message|mensaje|correo|nachricht|messaggio|mensagem|bericht|courriel|meddelande|meddelelse)|(?:message|mail) (?:that )?you sent/i

/** What machines tell of other things than our mail, often from the postmaster's or the robot's own name. */
export const OTHER_SUBJECT = anyOf(
  /^\s*(?:\[?cron\b|anacron|logwatch|\*+ (?:problem|recovery)|problem\b|recovery\b|welcome\b|willkommen|bienvenu)/i,
  /quarantine (?:notif|report|summar|digest|release)|(?:spam|junk|quarantine) (?:digest|report|summary|quarantine)|newsletter/i,
  /uncaught bounce|bounce (?:action|statistics|summary)|\blog ?(?:summar|watch|report)|^\s*report domain:|messages? (?:held|quarantined)\b|(?:held|quarantined) (?:messages?|e-?mails?)\b/i,
  /quota (?:warning|alert|notification|report)|(?:mailbox|quota)\b.{0,20}(?:almost|nearly) (?:full|exceeded)|password (?:expir|reset)/i,
  /^\s*(?:[^\s:]{1,40} ){0,2}(?:digest|statistics)\b|^\s*(?:mail )?queue (?:report|status|summary)\b/i,
)

/** An entry of a list that needs no language: an address, and beside or under it a reply with its code. */
export const ENTRY =
  /(?:^|\n)[ \t]*<?[^\s<>@:]{1,100}@[^\s<>@:]{1,200}>?[ \t]{0,9}(?::[ \t]{0,9}\n?|\n)[ \t]{0,9}(?:smtp; ?)?[45]\d\d[ -]\S/

/** Said to the owner of a mailbox or of a parcel, never to the sender of a mail. */
export const TO_OWNER = anyOf(
  /\b(?:by|in|from) (?:a |the )?(?:message|e-?mail|mail) (?:that was )?sent to you\b|(?:messages?|mails?) (?:in|for|from reaching) your (?:mailbox|inbox)/i,
  /\byour (?:mailbox|inbox|storage|e-?mail account)(?: \S{1,100})? (?:will (?:be|expire)|is (?:almost|nearly|about|running)|must be)/i,
  /(?:storage|error|problem) (?:error )?(?:on|with|of|in) your (?:mailbox|inbox)|to your inbox\b|verify your (?:account|mailbox)/i,
  /\byour (?:parcel|package|shipment|consignment|sms|text message|fax)\b|\b(?:you have|release) (?:\(?\d{1,4}\)? )?(?:undelivered|incoming|pending) (?:messages?|e-?mails?|mails?)\b/i,
)

/** People speak of themselves and to each other; a server that signs with no robot's name does not. */
export const PERSONAL = anyOf(
  /\bmy (?:e-?mails?|mails?|messages?|letters?|parcels?|orders?|packages?)\b|\b(?:do|did|can|could|would) you\b/i,
  /\bi (?:tried|got|just|think|hope|need|sent|wrote)\b|\b(?:kind|best|warm) regards|\bcheers\b|please (?:call|ring)\b|\b(?:hello|hi|dear \w{1,20}),/i,
  /\bmein(?:e|er|en)? (?:e-?mails?|nachricht|paket|bestellung)|kannst du|können sie mir|(?:viele|liebe|freundliche\w*) gr(?:ü|ue)(?:ß|ss)e/i,
  /\bmon (?:message|mail|colis)|pouvez-vous|cordialement|\bmi (?:mensaje|correo|pedido)\b|saludos|\bmio messaggio|cordiali saluti/i,
)

export const AUTOREPLY_SUBJECT =
  /^(?:auto(?:matic|mated|mated? )?[- ]?(?:reply|response|respond|answer|antwort)|autom?atische (?:antwort|beantwoording)|auto:|out of (?:the )?office|ooo\b|away (?:from|until|till|on)|i am (?:away|out|on)|i'm (?:away|out|on)|vacation|on (?:vacation|holiday|leave)|abwesen|absen[ct]e?|r[ée]ponse automatique|respuesta autom[aá]tica|risposta automatica|resposta autom[aá]tica|automatiskt? svar|automatisch antwoord|autosvar|fuera de (?:la )?oficina|自動応答|自動返信|不在|自动回复|автоответ)/i

/** Said once, at the beginning of a notice, by nobody but an MTA. */
export const OPENING = anyOf(
  /(?:message|mail|e-?mail|following address|recipient)s?[^.!]{0,80}(?:could not|cannot|can't|was not|were not|couldn't|has not|have not|not been|could|has been)[^.!]{0,40}(?:deliver|reach|sent to|delayed|postponed|return)/i,
  /(?:unable|unsuccessful|trouble|error|problem|failed|failure|wasn't able|not able|not possible)[^.!]{0,60}(?:deliver|send)/i,
  /deliver[^.!]{0,60}(?:fail|abort|delay|permanent|error)|undeliverable|returned mail/i,
  /returned to (?:the )?sender|permanent (?:fatal )?error|fatal error/i,
  /following (?:address|recipient)|did not reach|error message below:|created automatically by|transcript of session/i,
  /unknown user|user unknown|delivery status notification|failed (?:addresses|recipients?)\b|mailbox exceeds|no such user/i,
  /no valid recipients|reporting-mta|wasn't able|unsent message|may not exist|not (?:be )?delivered/i,
  /delivery failure|bounce message|trouble delivering|could not be sent|delivery report|送信できません/i,
  /配信できません|届けることができません|送信に失敗|не может быть доставлено|не удалось|não (?:pode|foi)/i,
  /n.a pas été (?:distribu|remis|livr)|leveransen misslyckades|kunne ikke leveres|kon niet worden (?:bezorgd|afgeleverd)/i,
  /no se pudo|nepodařilo doručit|nelze doručit|inte levereras|ei voitu toimittaa|teslim edilemedi|nie została dostarczona/i,
  /no (?:pudo|(?:se )?ha podido)|não pôde|n'a pas pu|nicht (?:zugestellt|zustell|ausgeliefert|erreicht)|non (?:è|può)/i,
  ...NOT_DELIVERED,
)

/** What makes a notice a delay, unless GAVE_UP says otherwise. */
export const DELAY = anyOf(
  /warning message only|(?:only|just) a warning|do(?: not|n't) (?:need|have) to re-?send/i,
  /not need to re-?send/i,
  /(?:has|have|been|is|was|being|message|delivery|delivered) (?:temporarily |currently )?(?:delayed|postponed|deferred)\b/i,
  /delayed (?:for|by|delivery|mail|\d)|not yet (?:been )?(?:delivered|able|reached)/i,
  /(?:could|can)(?: |)not (?:yet )?be delivered (?:for|in|within) .{0,40}(?:will|but)/i,
  /will (?:be retried|be tried again|be attempted|continue to|keep (?:on )?try|still try|try again|retry|re-?attempt)/i,
  /delivery attempts will|attempts will (?:be made|continue)/i,
  /still (?:being )?(?:trying|attempted|queued|in the queue)|continue (?:to try|trying)/i,
  /temporary failure (?:report|notification)|delay reason|advisory[- ]only|kept in the queue/i,
  /delivery (?:is |was |has been )?(?:temporarily )?suspended|retrying (?:to|for)/i,
  /transient (?:non-fatal |failure|delivery)|temporarily unable to deliver|automatically retr/i,
  /(?:hasn't|not) been delivered yet|noch nicht (?:zugestellt|ausgeliefert)|n'a pas encore/i,
  /ainda não|todavía no|aún no|non è ancora|ещё не|まだ(?:配信|配送|送信)|再送を(?:続|試|行)|再試行|wird weiter/i,
  /verzögert|retardé|en attente|se ha retrasado|retraso|vertraagd|nog niet|ritardat|adiada|atrasada/i,
  /försenad|forsinket|ännu inte|endnu ikke|opóźni|jeszcze nie|zpožd|ještě ne|遅れて|延迟|задерж|ещё пыта|지연/i,
  /zatím (?:ne|bud)|opozdil|henüz|gecik|viivästy|ei ole vielä|késik|még nem sikerült|계속 전송|尚未送达/i,
  ...LATE,
)

export const DELAY_SUBJECT = anyOf(
  /\(delay\)|delay(?:ed)?\b|^warning\b(?!.{0,40}virus)|:? ?warning:|delivery warning|still (?:being|trying|not)/i,
  /deferred|not yet delivered|queued|verzögert|temporar|retard|retraso|vertraagd|ritard|atrasad|adiad/i,
  /försenad|forsinket|opóźni|zpožd|opozdil|gecik|viivästy|késik|遅延|延迟|задерж|지연/i,
  ...LATE,
)

/** The sender has given up, whatever else is said. */
export const GAVE_UP = anyOf(
  /(?:given|giving|gave) up|(?<!non-)fatal error/i,
  /(?<!not a |no )permanent(?:ly)? (?:error|fail|fatal|undeliver)|failed permanently/i,
  /returning (?:the |your )?message to|(?<!be )return(?:ed|ing) to (?:the )?sender/i,
  /undelivered mail returned|aborted after|no further (?:delivery )?attempt/i,
  /will not (?:be (?:retried|attempted)|try|retry|continue)|not going to try/i,
  /been in the queue too long|has expired|envelope expired|message expired|delivery time expired/i,
  /could not be delivered within|failed after|delivery has failed/i,
  /message has been (?:returned|bounced|deleted)/i,
)

/** Said of a delay and of nothing else. */
export const WARNING_ONLY =
  /warning message only|(?:only|just) a warning|not need to re-?send|will be retried|no action is required on your part|not been delivered yet|still trying|will keep trying/i

/** sendmail's heading of its list, which stands above warnings too. */
export const LIST_HEADING = /addresses had (?:permanent )?(?:fatal )?(?:delivery )?(?:errors?)?/gi

/** A reply for good, in a transcript or beside an address. */
export const FINAL_REPLY =
  /(?:^|\n|[:>'"([,])[ \t]*(?:<<< ?)?5\d\d[ -][^\n]{3}|\bno such (?:user|mailbox|account|recipient)|user unknown|unknown (?:user|recipient)|user (?:does not|doesn't) exist/i

/** Why a mail came back, in the shortest words. */
export const REASON =
  /(?:is|was|are) unknown\b|unbekannt|inconnu|sconosciut|desconocid|desconhecid|(?:does not|doesn't|no longer) exist|mailbox (?:is )?full|over (?:the )?quota|quota exceeded|not found\b/i

/** A report that says `delayed` and is final nonetheless. Narrow: Exim's "will give up" is no end. */
export const EXPIRED_DELAY = anyOf(
  /envelope expired|(?:have|has|i've|'ve) given up|not going to try again|no further attempts/i,
  /will not be retried|message (?:has been )?returned to (?:the )?sender/i,
)

/** Notices of success, in the words of Postfix, Exim, sendmail and Exchange. */
export const SUCCESS = anyOf(
  /(?:was|were|has been|have been) successfully (?:delivered|relayed)|successful delivery notif/i,
  /zustellung an [^.]{0,120}(?:abgeschlossen|erfolgreich)|remise [^.]{0,120}(?:terminée|effectuée)|entrega [^.]{0,120}(?:se ha completado|foi concluída)|consegna [^.]{0,120}completata/i,
  /successfully delivered to the (?:destination|following)|delivered to the following recipients/i,
  /message was (?:relayed|delivered) to these recipients|wurde erfolgreich zugestellt|entregado correctamente/i,
  /(?:delivery to|deliver(?:ed|y) of) [^.]{0,120}(?:is complete|was successful|succeeded)|a bien été remis/i,
)
/** Words of failure; the standing remark of Postfix about later errors elsewhere is none. */
export const FAILURE = anyOf(
  /(?:could|can|was|were|has|have)(?: |)n[o']t (?:be |been )?(?:delivered|relayed|sent)|undeliver|unable to|\bfail(?:ed|ure)/i,
  /permanent (?:fatal )?error|returned to sender|user unknown|unknown user|rejected|refused/i,
  ...NOT_DELIVERED,
)

/** A machine's Disposition, when it did not let the mail in. */
export const REJECTING = /^\s*automatic-action\b[^;]*;\s*(?:deleted|denied|failed)\b/i

/** What a rejection says for people, when it is written as a receipt. */
export const REJECTED = anyOf(
  /(?:message|mail|e-?mail)\b(?:[^.!?]|\.\S){0,200} (?:was|has been|is) (?:automatically )?(?:rejected|refused|denied)\b/i,
  /(?:nachricht|mail)\b(?:[^.!?]|\.\S){0,200} (?:abgelehnt|abgewiesen|zurückgewiesen)\b|\bmessage\b(?:[^.!?]|\.\S){0,200} (?:rejeté|refusé)/i,
  /\b(?:mensaje|correo|mensagem|messaggio)\b(?:[^.!?]|\.\S){0,200} (?:rechazad|rejeitad|rifiutat|respint)|bericht\b(?:[^.!?]|\.\S){0,200} geweigerd/i,
)

/** Lines above a copy of the returned message; rules and stars before the words do not count. */
export const ORIGINAL_BELOW = anyOf(
  /^below (?:this|the (?:next )?) ?line|^below (?:this line )?is a copy|^this is a copy of/i,
  /^(?:included|enclosed|attached|attachment|following|here) (?:is|are) (?:a |the )?(?:copy|copies|original|first|header|message|text)/i,
  /^here is your (?:returned|original) (?:mail|message)/i,
  /^a copy of (?:the|your) (?:original )?(?:message|mail|e-?mail)/i,
  /^(?:start|begin(?:ning)?) of (?:the )?(?:returned|original|unsent|forwarded|message)/i,
  /^(?:the )?(?:original|returned|unsent|undelivered|rejected|failed|bounced) (?:e-?mail |mail |message )?(?:message|mail|e-?mail|headers?|text|content|info|body|envelope)?(?: (?:text|headers?|info|contents?|body))?(?: (?:is |are )?(?:follow(?:s|ing)?|below|attached|as follows))?[-=_*|~#+. :]*$/i,
  /^message (?:text|headers?|contents?|body|source) (?:follows?|below)/i,
  /^(?:the )?(?:first|header|headers|body|text|original|beginning|top|partial)\b.{0,60}(?:follow|below)/i,
  /^a summary of the undelivered|^your (?:original )?(?:message|mail) (?:follows|reads|is below|text)[^.]{0,20}[-:.]?$/i,
  /^(?:forwarded|begin forwarded) message|^unsent message|^original(?:nachricht|-?mail|-?message)/i,
  /^(?:mensaje|mensagem|messaggio|nachricht im) original|^urspr[üu]ngliche nachricht/i,
  /^message d.origine|^copie du message|^исходное|^(?:元の|原(?!因))/i,
)

/** What stands before the words of such a line. */
export const RULER = /^[-=_*|~#+> \t]{1,200}/
