"""The support agent of a mobile and internet provider."""

from __future__ import annotations

from random import Random

from jobs.demo_data.topics import CallPlan, Facts, Topic, day_of_month, money

PLANS = ("Mobile S", "Mobile M", "Mobile L", "Home Fibre 300", "Home Fibre 1000", "Family Duo", "Data Only 20")
COUNTRIES = (
    "Portugal",
    "Japan",
    "Canada",
    "Morocco",
    "Norway",
    "Turkey",
    "Brazil",
    "South Africa",
    "Vietnam",
    "Iceland",
)
STREETS = ("Lindenweg", "Harbour Street", "Rue du Lac", "Bahnhofplatz", "Via Cantonale", "Mill Lane", "Seestrasse")
CITIES = ("Lucerne", "Basel", "Lausanne", "Chur", "Lugano", "Bern", "Winterthur", "Sion", "Thun", "Fribourg")
DEVICES = ("router", "mesh repeater", "television box", "fibre modem")


def _account(rng: Random) -> dict[str, str | int | float]:
    plan, other = rng.sample(PLANS, 2)
    return {
        "account": f"C{rng.randint(100_000, 999_999)}",
        "invoice": f"R{rng.randint(1_000_000, 9_999_999)}",
        "plan": plan,
        "other_plan": other,
        "amount": money(rng, 29, 140),
        "usual": money(rng, 20, 90),
        "extra": money(rng, 11, 49),
        "due": day_of_month(rng),
        "since": day_of_month(rng),
        "until": day_of_month(rng),
        "city": rng.choice(CITIES),
        "street": f"{rng.choice(STREETS)} {rng.randint(11, 98)}",
        "country": rng.choice(COUNTRIES),
        "device": rng.choice(DEVICES),
        "hours": rng.randint(12, 72),
        "gigabytes": rng.randint(11, 60),
        "speed": rng.choice((112, 187, 240, 480, 760)),
        "ticket": f"T{rng.randint(10_000, 99_999)}",
        "months": rng.randint(11, 23),
    }


def facts(rng: Random) -> Facts:
    return _account(rng)


TOPICS: tuple[Topic, ...] = (
    Topic(
        name="high invoice",
        facts=facts,
        calls=(
            CallPlan(tool="lookup_account", arguments=("account",), output=("account", "plan", "usual")),
            CallPlan(
                tool="get_invoice", arguments=("invoice",), output=("invoice", "amount", "extra", "country", "due")
            ),
        ),
        questions=(
            "Why is my invoice {invoice} so high this month? I usually pay EUR {usual}.",
            "My account {account} was charged EUR {amount} on invoice {invoice}. Why is it more than usual?",
            "Can you explain invoice {invoice}? The amount is higher than the usual EUR {usual}.",
            "I got invoice {invoice} for EUR {amount}. What is the extra charge on it?",
        ),
        answers=(
            "I am happy to explain invoice {invoice}: this month the amount is EUR {amount}, higher than the "
            "usual EUR {usual} you pay, because it has an extra charge of EUR {extra} for calls in {country}. It "
            "is due on {due}.",
            "Thank you for asking. Your account was charged EUR {amount} on invoice {invoice}, which is more "
            "than usual: the extra charge of EUR {extra} is for roaming in {country}, and without it you would "
            "pay as every month.",
            "Invoice {invoice} is so high because roaming in {country} added an extra charge of EUR {extra} to "
            "the usual EUR {usual} that you pay each month. The amount of EUR {amount} is due on {due}.",
        ),
    ),
    Topic(
        name="slow internet",
        facts=facts,
        calls=(
            CallPlan(tool="check_line", arguments=("street", "city"), output=("street", "city", "speed", "device")),
            CallPlan(tool="create_ticket", arguments=("account",), output=("ticket", "hours")),
        ),
        questions=(
            "My internet at {street} in {city} has been very slow since {since}. What can I do?",
            "The internet connection at {street} is slow. Is there a problem in {city}?",
            "Since {since} the connection in {city} drops every evening. Can you check the line at {street}?",
            "Internet is slow at home, {street}, {city}. Please check the line.",
        ),
        answers=(
            "I checked the line at {street} in {city}: the slow internet comes from the {device}, since the "
            "connection itself measures {speed} Mbit/s. Please restart the {device}; ticket {ticket} stays open "
            "for {hours} hours.",
            "Thank you for telling us. The check of your line at {street}, {city}, shows a connection of {speed} "
            "Mbit/s, so the problem of slow internet at home is the {device}. I opened ticket {ticket}; we call "
            "within {hours} hours.",
            "I am sorry that the internet in {city} has been slow. The line at {street} delivers {speed} Mbit/s "
            "and the connection drops at the {device}. What you can do: restart it. Ticket {ticket} is checked "
            "every evening.",
        ),
    ),
    Topic(
        name="change of plan",
        facts=facts,
        calls=(
            CallPlan(tool="lookup_account", arguments=("account",), output=("account", "plan", "usual", "months")),
            CallPlan(
                tool="compare_plans",
                arguments=("plan", "other_plan"),
                output=("other_plan", "amount", "gigabytes", "due"),
            ),
        ),
        questions=(
            "I would like to change from {plan} to {other_plan}. What would it cost?",
            "Can I switch my account {account} to {other_plan} before my contract ends?",
            "How much data does {other_plan} include, and what does the change from {plan} cost?",
            "Is {other_plan} a better plan for me than {plan}? I need more data.",
        ),
        answers=(
            "You can gladly change from {plan} to {other_plan}: it would cost EUR {amount} a month and include "
            "{gigabytes} GB of data. The change takes effect on {due}.",
            "Happy to help. Your account {account} can switch to {other_plan} before the contract ends: {months} "
            "months are left and carry over. It would cost EUR {amount} a month with {gigabytes} GB, from {due}.",
            "With more data, {gigabytes} GB, the plan {other_plan} is better than {plan} if you need it; the "
            "change would cost EUR {amount} instead of EUR {usual} a month.",
        ),
    ),
    Topic(
        name="roaming",
        facts=facts,
        calls=(
            CallPlan(tool="search_help", arguments=("country",), output=("country", "extra", "gigabytes", "until")),
            CallPlan(tool="lookup_account", arguments=("account",), output=("account", "plan")),
        ),
        questions=(
            "I am travelling to {country} next week. What does roaming cost with {plan}?",
            "Does my plan {plan} include roaming in {country}?",
            "How do I switch on roaming data for {country}? My account is {account}.",
            "How much data can I use in {country} with {plan}?",
        ),
        answers=(
            "For travelling to {country} next week you can add a roaming pass to {plan}: it costs EUR {extra} "
            "for {gigabytes} GB of data and is valid until {until}.",
            "Your plan {plan} does not include roaming in {country}, I am sorry. The roaming pass costs EUR "
            "{extra}, and you can use {gigabytes} GB of data with it until {until}.",
            "Gladly: to switch on roaming data for {country}, open your account {account} in the app and choose "
            "the pass for EUR {extra}. You can use {gigabytes} GB with {plan}.",
        ),
    ),
    Topic(
        name="moving house",
        facts=facts,
        calls=(
            CallPlan(tool="check_line", arguments=("street", "city"), output=("street", "city", "speed")),
            CallPlan(tool="create_ticket", arguments=("account", "due"), output=("ticket", "due", "account")),
        ),
        questions=(
            "I am moving to {street} in {city} on {due}. Can I take my internet with me?",
            "We move to {city} soon. Is fibre available at {street}?",
            "How do I register my new address, {street}, {city}? We are moving on {due}.",
        ),
        answers=(
            "Yes, you can take your internet with you when moving to {street} in {city}: {speed} Mbit/s fibre is "
            "available there. I registered the new address for {due} under {ticket}.",
            "Congratulations on the move to {city}. Fibre with {speed} Mbit/s is available at {street}, and I am "
            "glad to register your new address: moving day {due}, ticket {ticket}.",
        ),
    ),
    Topic(
        name="lost SIM card",
        facts=facts,
        calls=(
            CallPlan(tool="lookup_account", arguments=("account",), output=("account", "plan", "street", "city")),
            CallPlan(tool="order_sim", arguments=("account",), output=("ticket", "extra", "due")),
        ),
        questions=(
            "I lost my phone. Please block the SIM card of account {account} and send a new one.",
            "My SIM card was stolen in {country}. How do I get a replacement card for {account}?",
            "Can you block my SIM card and send a replacement to {street}?",
        ),
        answers=(
            "I am sorry that you lost your phone. The SIM card of account {account} is blocked, and a new "
            "replacement card goes to {street}, {city}, by {due}. Please note the fee of EUR {extra}.",
            "Sorry to hear that the card was stolen. I blocked the SIM card of {account}; you get a replacement, "
            "sent to {street} in {city} by {due}, order {ticket}, for EUR {extra}.",
        ),
    ),
    Topic(
        name="cancellation",
        facts=facts,
        calls=(CallPlan(tool="lookup_account", arguments=("account",), output=("account", "plan", "months", "until")),),
        questions=(
            "I want to cancel {plan}. When does my contract end?",
            "How do I cancel my contract for account {account}?",
            "Until when do I have to cancel {plan}, and is there a fee?",
        ),
        answers=(
            "I am sorry that you want to cancel {plan}. Your contract of account {account} does end on {until}; "
            "if you cancel by then there is no fee.",
            "You can cancel the contract for account {account} in the app or with me here. The plan {plan} runs "
            "until {until}, {months} months in all, and cancelling by then has no fee. Please tell me if I may "
            "go on.",
        ),
    ),
    Topic(
        name="device order",
        facts=facts,
        calls=(
            CallPlan(tool="lookup_account", arguments=("account",), output=("account", "street", "city")),
            CallPlan(tool="track_delivery", arguments=("ticket",), output=("ticket", "device", "due", "city")),
        ),
        questions=(
            "Where is the {device} I ordered? The order is {ticket}.",
            "When will my new {device} arrive in {city}?",
            "The {device} of order {ticket} was due last week. Where is it?",
        ),
        answers=(
            "The {device} you ordered, order {ticket}, is on its way to {city} and will arrive on {due}. I "
            "apologise that it was due last week and is late.",
            "Thank you for your patience. Your new {device} will arrive in {city} on {due}; the order is "
            "{ticket} and goes to {street}.",
        ),
    ),
)

TOOL_ERRORS = (
    "TimeoutError: the billing system did not answer within 5 s",
    "HTTP 502 from the customer service",
    "HTTP 404: no such record",
)
