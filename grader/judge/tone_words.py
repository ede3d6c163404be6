"""Words that the offline baseline takes as a sign of tone, case-folded, in five languages."""

from __future__ import annotations


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


HOSTILE = _words(
    "stupid idiot idiotic moron dumb pathetic ridiculous nonsense lazy useless crap damn loser",
    "dumm blöd idiotisch trottel quatsch lächerlich unfähig nutzlos verdammt",
    "imbécile idiote stupide ridicule débile inutile",
    "estúpido estúpida idiota tonto tonta ridículo inútil",
    "scemo stupido stupida ridicolo inutile cretino",
)

COURTEOUS = _words(
    "please thank thanks sorry apologize apologise apologies apology glad happy welcome regret unfortunately help",
    "bitte danke entschuldigung leider gern gerne freut willkommen bedaure hilfe helfen",
    "merci désolé désolée pardon volontiers bienvenue malheureusement aide aider plaisir",
    "gracias favor disculpe perdón siento lamento bienvenido encantado ayuda ayudar lamentablemente",
    "grazie scusa scusi spiacente prego purtroppo benvenuto aiuto aiutare piacere",
)

DECLINING = _words(
    "cannot can't can’t won't won’t couldn't couldn’t unable impossible refuse denied declined",
    "unmöglich verweigert abgelehnt",
    "refusé",
    "imposible rechazado",
    "impossibile rifiutato",
)
