"""The signs of risk in a draft, as data: a name, its risk class, and phrases, one a line, English and Spanish.

A phrase is a regular expression on text in lower case without accents. A space stands for one white space (runs of
blanks are one), ` _ ` for a
gap of a few words in the same sentence, `{name}` for one of the words of that list in ``WORDS``. It must begin and end
between words. Gaps and repetitions are bounded, so that a search stays linear in the text.
"""

from tribunal.model import Risk

WORDS = {
    # What a Spanish verb can end with: borra, borrar, borrad, borralo, borrarlos.
    "es": "[rdn]?(?:l[oae]s?|se|me|te|nos)?",
    "delete": "delete|drop|wipe|erase|purge|truncate|destroy|remove|overwrite",
    "borra": "(?:borr[ae]|elimin[ae]|vaci[ae]|destruy[ae]|destrui|purga|purgue|sobrescrib[aei]){es}",
    "data": "databases?|tables?|schemas?|backups?|snapshots?|records?|rows?|volumes?|buckets?|partitions?|disks?|users?"
    "|customers?|accounts?|everything|data",
    "datos": "bases? de datos|tablas?|copias? de seguridad|respaldos?|registros|filas|usuarios|clientes|cuentas|datos"
    "|discos?|todo",
    "production": "prod|production|produccion|live (?:server|site|system|database|cluster)",
    "change": "deploy|push|release|ship|run|apply|migrate|change|restart|reboot|merge|roll ?out|roll ?back|execute"
    "|enable|disable|switch|edit|patch|update|upgrade|test|try|promote|publish|connect|point|scale|stop|kill|hotfix",
    "cambia": "(?:desplieg|despleg|desplegu|lanz|public|publiqu|ejecut|aplic|apliqu|sub|cambi|migr|reinici|pas|actualiz"
    "|actualic|prob|prueb|conect|promuev|parch)[a-z]{1,8}",
    "credential": "passwords?|passphrases?|api[ -]?keys?|(?:access|auth|bearer|api|refresh|github|deploy|personal)"
    "[ -]?tokens?|secrets?|credentials?|(?:private|ssh) keys?|contrasenas?|credenciales"
    "|claves? (?:api|privadas?|de api)|tokens? de acceso|secretos?",
    "reveal": "hard-?code|commit|paste|store|save|put|share|send|email|log|print|echo|expose|embed|include|rotate"
    "|revoke|reset|export|write|check in|copy|post|upload|use|set|add",
    "revela": "(?:pon|peg|guard|compart|envi|mand|imprim|muestr|mostr|inclu|sub|escrib|copi|rot|revoc|us|export|anad)"
    "[a-z]{0,8}",
    "amount": r"[$€£] ?\d\w{0,12}|\d[\d.,]{0,12} ?(?:[$€£]|eur|usd|euros?|dollars?|dolares)|money|funds|dinero|fondos",
    "check": "tests?|ci|lint[a-z]{0,4}|checks?|hooks?|warnings?|reviews?|validations?|type ?check[a-z]{0,4}",
    "prueba": "pruebas?|tests?|ci|linter|avisos|validacion(?:es)?|revision(?:es)?|hooks?|comprobaciones",
    "protection": r"auth\w*|tls|ssl|https|certificates?|firewall|selinux|apparmor|csrf|cors|2fa|mfa|encryption"
    r"|signatures?|rate limit\w*|sandbox|antivirus|waf|access control",
    "proteccion": "autenticacion|autorizacion|tls|ssl|certificados?|cortafuegos|firewall|cifrado|firmas?|antivirus|2fa"
    "|mfa|control de acceso",
    "apaga": "(?:desactiv|deshabilit|apag|salt|omit|quit|ignor|silenci|coment)[a-z]{1,8}",
    "technology": r"rust|go|java|python|node|typescript|kotlin|postgres\w*|mysql|mongo\w*|redis|kafka|rabbitmq|graphql"
    "|grpc|kubernetes|aws|azure|gcp|react|django|fastapi|flask",
    "this": "the|all|any|old|every|this|that|these|those|your|our|its|unused|stale|it|them|both",
    "esto": "el|la|los|las|todo|toda|todos|todas|ese|esa|esos|esas|este|esta|estos|estas|tu|tus",
    "tool": "git|pip3?|npm|npx|yarn|pnpm|uv|docker|kubectl|helm|make|pytest|python3?|node|cargo|go|curl|wget|apt"
    "|apt-get|brew|systemctl|psql|redis-cli|ssh|scp|sed|awk|grep|find|export|source|poetry|tox|ruff",
    # Where an imperative stands: a line's or clause's beginning, or after one of a few words.
    "clause": r"^[\s>*#\d.)-]{0,20}|(?<=[.!?:;,(] )|(?:and|then|please|just|now|first|next|also|or|to|you|we"
    "|let's|let us|simply|don't|do not|not|never|always|y|o|luego|despues|primero|ahora|por favor|tambien"
    r"|simplemente|no|nunca|siempre|que|a) ",
    "do": "use|run|install|add|change|update|upgrade|set|replace|rename|move|edit|create|configure|enable|disable"
    "|start|stop|restart|switch|try|call|import|export|pin|bump|refactor|write|rewrite|wrap|cache|fix|patch|apply"
    "|open|close|copy|avoid|keep|put|make|choose|pick|pass|return|check|test|build|commit|push|pull|merge|rebase"
    "|downgrade|increase|decrease|reduce|lower|raise|split|extract|revert|undo|ignore|skip|download|clone|execute"
    "|invoke|define|declare|convert|drop|remove|delete|read|follow|wait|go with|go for|turn|save|store|send|buy"
    "|sell|sign|accept|reject|retry|leave|give|take(?! care)",
    "haz": "(?:us[ae]|utili[cz][ae]|ejecut[ae]|instal[ae]|anad[ae]|agrega|agregue|cambi[ae]|actuali[cz][ae]"
    "|pon|pong[ae]|configur[ae]|activ[ae]|desactiv[ae]|reempla[cz][ae]|sustituy[ae]|renombr[ae]|muev[ae]|edit[ae]|cre[ae]"
    "|inici[ae]|arranca|deten|detenga|reinici[ae]|prueb[ae]|llam[ae]|import[ae]|export[ae]|fij[ae]|refactoriza"
    "|escrib[ae]|corrij[ae]|corrige|aplica|aplique|abr[ae]|cierr[ae]|copi[ae]|evit[ae]|eli[gj][ae]|esco[gj][ae]"
    "|revis[ae]|comprueb[ae]|haz|haga|compil[ae]|sub[ae]|baj[ae]|aument[ae]|redu[cz]c?[ae]|extra[ei]|revierte"
    "|ignor[ae]|descarga|descargue|clon[ae]|defin[ae]|conviert[ae]|lee|sigue|siga|pregunt[ae]|esper[ae]|guard[ae]"
    "|envi[ae]|acept[ae]|recha[cz][ae]|deja|deje|anadi|pone|move|proba|escribi|corregi|hace){es}",
}

SIGNS: tuple[tuple[Risk, str, str], ...] = (
    (
        Risk.CRITICAL,
        "data-loss",
        r"""
        rm (?:-\w{1,9} ){0,4}-(?:\w{0,8}r\w{0,8}f|\w{0,8}f\w{0,8}r)\w{0,8}
        rm -r -f
        drop (?:table|database|schema)
        truncate (?:table )?\w{1,80}
        delete from \w{1,80}
        dropdb|mkfs(?:\.\w{1,8})?|flushall|flushdb|shred -\w{1,8}|dd if=\S{1,200}
        terraform destroy|kubectl delete|docker (?:volume|system) (?:rm|prune)
        {delete} _ {data}
        format(?:ea|ear|ee)? _ (?:disks?|drives?|partitions?|volumes?|discos?|unidad|particion)
        {borra} _ {datos}
        """,
    ),
    (
        Risk.CRITICAL,
        "irreversible",
        r"""
        irreversibl[ey]|irreversible(?:mente|s)|no way back|no undo
        can(?:not|'t|’t| not) be (?:undone|reverted|recovered)
        permanently (?:delete|remove|erase|lose|destroy)[a-z]{0,2}
        no (?:se puede|hay forma de|podras) (?:deshacer|recuperar|revertir)|sin vuelta atras
        """,
    ),
    (
        Risk.CRITICAL,
        "production",
        r"""
        {change} _ {production}
        {cambia} _ {production}
        """,
    ),
    (
        Risk.CRITICAL,
        "security",
        r"""
        (?:disable|turn off|switch off|bypass|skip|deactivate|ignore|remove) _ {protection}
        {apaga} _ {proteccion}
        verify ?= ?false|--insecure|curl (?:-\w{1,9} ){0,4}-k|stricthostkeychecking[ =]no
        chmod (?:-r )?0?777|0\.0\.0\.0/0
        (?:curl|wget) [^\n|]{0,200}\| ?(?:sudo )?(?:ba|z)?sh
        (?:expose|open|expon[a-z]{0,5}|abr[a-z]{1,5}) _ (?:internet|to the world|publicly|al mundo)
        cve-\d{4}-\d{1,9}|vulnerab\w{1,20}|exploit\w{0,20}|sql injection|inyeccion sql|ransomware|phishing
        """,
    ),
    (
        Risk.CRITICAL,
        "credentials",
        r"""
        {reveal} _ (?:{credential}|(?:the|my|your|our|a) pat)
        {revela} _ {credential}
        (?:commit|push|share|sube|subir|comparte) _ \.env
        -----begin [a-z ]{0,20}private key-----
        """,
    ),
    (
        Risk.CRITICAL,
        "money",
        r"""
        (?:pay|transfer|wire|invest|refund|charge|borrow|lend|spend|bid|donate) _ {amount}
        (?:buy|sell|invest in) _ (?:shares|stocks?|bonds|crypto\w{0,12}|bitcoin|etfs?|funds)
        (?:charge|refund) _ (?:cards?|customers?|clients?|accounts?)
        (?:pag|transfier|transfer|inviert|invert|reembols|cobr|prest|gast)[a-z]{1,8} _ {amount}
        (?:compr|vend)[a-z]{1,8} _ (?:acciones|bonos|bitcoin|cripto\w{0,12}|participaciones)
        (?:invert|inviert)[a-z]{1,6} en
        mortgage|loan|hipoteca|prestamo|tax return|declaracion de la renta
        """,
    ),
    (
        Risk.CRITICAL,
        "legal",
        r"""
        gdpr|rgpd|hipaa|lopd(?:gdd)?|pci[ -]dss|sox|ccpa
        (?:sign|breach|terminate|cancel|renew|relicense) _ (?:contract|agreement|nda|lease|clause|licen[cs]e)
        (?:firm|rescind|cancel|incumpl|renov)[a-z]{1,6} _ (?:contrato|acuerdo|clausula|licencia)
        lawsuit|sue (?:him|her|them|the|us|you|your)
        lawyer|attorney|legal (?:advice|liability|obligation|action|risk)|liable|plead|testify
        demanda judicial|demandar|abogad[oa]|(?:responsabilidad|obligacion|asesoria) legal|despido
        personal data|personally identifiable|pii|datos personales|copyright infringement
        """,
    ),
    (
        Risk.CRITICAL,
        "health",
        r"""
        (?:take|give|stop|double|inject) _ \d{1,6} ?(?:mg|ml|mcg|pills|tablets)
        (?:toma|dale|deja|inyect[a-z]{1,3}) _ \d{1,6} ?(?:mg|ml|mcg|pastillas)
        dosage|overdose|prescription|medication|dosis|sobredosis|medicamento|receta medica
        """,
    ),
    (
        Risk.HIGH,
        "force-push",
        r"""
        push (?:\S{1,80} ){0,4}(?:--force|-f|--force-with-lease)
        force[ -]?push(?:ed|ing)?|push forzado|forz[a-z]{1,4} (?:el |un )?push
        """,
    ),
    (
        Risk.HIGH,
        "history",
        r"""
        git (?:reset --hard|clean -\w{0,6}f\w{0,6}|rebase|filter-branch|filter-repo|commit --amend|push --delete)
        (?:rewrite|rebase|squash|reescrib[a-z]{1,4}) _ (?:history|branch|commits?|historial|historia|rama)
        """,
    ),
    (
        Risk.HIGH,
        "merge",
        r"""
        (?:merge|push|commit) _ (?:to|into|on|onto) (?:the )?(?:main|master|trunk|release)
        (?:fusion|integr|mergea|sub)[a-z]{1,6} _ (?:a|en) (?:la rama )?(?:main|master|principal)
        (?:merge|approve|ship) _ without (?:a )?(?:review|tests?|approval)
        (?:fusion|aprueb|aprob)[a-z]{1,6} _ sin (?:una )?(?:revision|pruebas)
        """,
    ),
    (
        Risk.HIGH,
        "checks-off",
        r"""
        --no-verify|\[skip ci\]
        (?:skip|disable|bypass|silence|ignore|turn off|comment out|delete|xfail) _ {check}
        {apaga} _ {prueba}
        """,
    ),
    (
        Risk.HIGH,
        "migration",
        r"""
        (?:run|apply|execute|create|write|add|generate|need|squash|roll back) _ migrations?
        migrate (?:to|the|your|our|from|all|it|them|this|everything)|alembic|flyway|liquibase|manage\.py migrate
        alter table|add column|drop column|rename column|backfill
        migr[ae]{es} (?:a|el|la|los|las|de|desde|todo|todos|tu|vuestra|nuestra)
        (?:ejecut|aplic|lanz|cre)[a-z]{1,6} _ migraci(?:on|ones)
        """,
    ),
    (
        Risk.HIGH,
        "deploy",
        r"""
        (?:re)?deploy(?:ing)? (?:to|the|it|this|that|now|your|our|from|with|directly)
        roll(?:ing)? (?:it |this )?(?:out|back)|release (?:it|the|this|a|to|version)|ship (?:it|the|this)
        kubectl (?:apply|rollout|scale)|helm (?:upgrade|install|rollback)|terraform apply|ansible-playbook
        npm publish|twine upload|cargo publish|docker push|gh release
        (?<!el )(?<!del )(?<!al )(?<!un )(?:desplieg|despleg)(?:a|ue){es}
        (?:hacer?|haz|lanz[ae]r?) (?:el |un )?despliegue|lanz[ae]r? la version
        """,
    ),
    (
        Risk.HIGH,
        "delete",
        r"""
        (?:delete|remove|drop|purge|erase|wipe|uninstall|get rid of) {this}
        (?:delete|remove|drop|borr[ae]r?|elimin[ae]r?) [`'\"/]\w{1,80}
        rm -?\w{1,80}|rmdir|git rm|apt(?:-get)? (?:remove|purge)
        (?:borr[ae]|elimin[ae]|quit[ae]|desinstal[ae]){es} {esto}
        """,
    ),
    (
        Risk.HIGH,
        "permissions",
        r"""
        chmod|chown|setfacl|visudo|usermod|icacls|sudo \w{1,40}
        (?:grant|revoke|give|elevate|assign|allow) _ (?:access|admin\w{0,12}|roles?|permissions?|privileges?|rights)
        (?:admin|root|superuser|owner) (?:access|rights|privileges|role|permissions?)|iam (?:role|policy|user)
        (?:otorg|conced|revoc|da|dar|dale|asign|elev)[a-z]{0,4} _ (?:acceso|permisos?|privilegios|roles?|administrador)
        permisos de (?:administrador|root|escritura)
        """,
    ),
    (
        Risk.HIGH,
        "architecture",
        r"""
        micro-?services?|monolith\w{0,4}|event[ -](?:driven|sourcing)|cqrs|serverless|sharding|multi-tenan\w{1,3}
        architectur\w{1,6}|design decision|system design|data model|service mesh
        (?:rewrite|port|rebuild|replace|switch|move) _ (?:in|to|with|from) {technology}
        microservicios?|monolit\w{1,4}|arquitectur\w{1,6}|dirigid[oa] por eventos|modelo de datos|decision de diseno
        (?:reescrib|reemplaz|sustitu|cambi|pas|mov|muev)[a-z]{1,6} _ (?:en|a|por|con) {technology}
        """,
    ),
    (Risk.HIGH, "credential-topic", "{credential}"),
    (
        Risk.HIGH,
        "unattended",
        r"""
        cron(?:tab)?|unattended|without (?:asking|confirmation|supervision|a human)|auto-?(?:merge|approve)\w?
        sin (?:preguntar|confirmacion|supervision|confirmar)|desatendid[oa]
        --yes|--assume-yes|--dangerously-\w{1,20}
        """,
    ),
    (
        Risk.MEDIUM,
        "recommendation",
        r"""
        recommend\w{0,7}|suggest\w{0,6}|advi[sc]\w{1,5}|propos\w{1,4}|should(?:n['’]t)?|ought to|must(?:n['’]t)?
        (?:i would|i['’]d) (?!be|love|like)[a-z]{2,12}|had better
        consider|prefer\w{0,5}|(?:need|needs|have|has) to|you could|you can|you may want
        make sure|be sure to|best (?:option|choice|approach|practices?)|better (?:option|choice|to|off)
        go with|opt for|worth (?:trying|using|adding)|the (?:fix|solution|way|trick) is
        recomiend\w{1,5}|recomend\w{1,7}|sugier\w{1,3}|suger\w{1,8}|aconsej\w{1,6}|propon\w{1,6}|deberia\w{0,3}
        debe(?:s|n|mos)?|hay que|tien(?:es|e|en) que|conviene|convendria|consider[ae]\w{0,3}
        prefier\w{1,2}|preferi\w{1,4}|opt(?:a|ar|e) por|puedes|podrias|podemos
        asegurate|asegurese|lo mejor|es mejor|seria mejor|vale la pena
        la solucion es|necesitas
        """,
    ),
    (
        Risk.MEDIUM,
        "choice",
        r"""
        instead of|rather than|versus|vs|compared (?:to|with)|(?:better|faster|safer) than|either|option [ab12]
        trade-?offs?|pros and cons
        en vez de|en lugar de|en comparacion con|mejor que|mas (?:rapid|segur)[oa] que|opcion [ab12]|ventajas
        """,
    ),
    (
        Risk.MEDIUM,
        "instruction",
        r"""
        {clause}(?:{do})(?!-)
        {clause}(?:{haz})(?!-)
        """,
    ),
    (
        Risk.MEDIUM,
        "command",
        r"""
        ^[ \t]{0,8}(?:```|~~~|[$%] \w{1,40})
        `(?:{tool}) [\w./-]{1,80}
        ^[ \t]{0,8}(?:{tool}) (?:-{1,2}\w|(?:install|run|add|commit|push|pull|clone|checkout|apply|build|up|exec)(?!\w))
        """,
    ),
    (
        Risk.MEDIUM,
        "code",
        r"""
        `[^`\n]{1,200}`
        \w{1,80}\((?!s\))[^()\n]{0,80}\)
        (?:\.{0,2}/)?(?:[\w-]{1,60}/){1,8}[\w-]{1,60}\.\w{1,8}
        [\w-]{1,60}\.(?:py|js|ts|go|rs|java|rb|c|cpp|h|cs|sh|sql|ya?ml|toml|ini|json|cfg|conf|tf|lock)
        --[a-z][\w-]{1,40}
        """,
    ),
    (
        Risk.MEDIUM,
        "certainty",
        r"""
        guarantee\w{0,2}|100 ?%|definitely|without (?:any )?doubt|(?:zero|no) risk|completely safe|never fails?
        garantiza\w{0,4}|sin (?:ninguna )?duda|sin riesgo|totalmente seguro|nunca falla|definitivamente
        """,
    ),
)
