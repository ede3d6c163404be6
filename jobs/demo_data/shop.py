"""The shop assistant of an outdoor store."""

from __future__ import annotations

from random import Random

from jobs.demo_data.topics import CallPlan, Facts, Topic, day_of_month, money

PRODUCTS = (
    "Ridgeline rain jacket",
    "Col du Pillon down jacket",
    "Alder hiking boots",
    "Glacier trekking poles",
    "Birch two-person tent",
    "Ember gas stove",
    "Larch sleeping bag",
    "Summit 38 backpack",
    "Creek water filter",
    "Fjord softshell trousers",
    "Pine head torch",
    "Scree trail running shoes",
    "Tarn insulated bottle",
    "Moraine climbing harness",
    "Juniper merino shirt",
    "Cairn camping mat",
)
COLOURS = ("black", "forest green", "slate blue", "rust red", "sand", "navy")
SIZES = ("S", "M", "L", "XL", "38", "40", "42", "44")
STORES = ("Zurich", "Geneva", "Munich", "Innsbruck", "Lyon", "Turin", "Vienna", "Grenoble")
USES = (
    "a week in the Alps",
    "wet autumn hikes",
    "winter camping",
    "a first trek with children",
    "trail races",
    "long bike tours",
)
CARRIERS = ("SwissPost", "DHL", "DPD", "GLS")


def facts(rng: Random) -> Facts:
    product, other = rng.sample(PRODUCTS, 2)
    return {
        "product": product,
        "other": other,
        "sku": f"SKU{rng.randint(10_000, 99_999)}",
        "colour": rng.choice(COLOURS),
        "size": rng.choice(SIZES),
        "store": rng.choice(STORES),
        "use": rng.choice(USES),
        "carrier": rng.choice(CARRIERS),
        "order": f"W{rng.randint(100_000, 999_999)}",
        "parcel": f"P{rng.randint(10_000_000, 99_999_999)}",
        "price": money(rng, 24, 340),
        "other_price": money(rng, 24, 340),
        "grams": rng.randint(120, 2400),
        "other_grams": rng.randint(120, 2400),
        "stock": rng.randint(11, 90),
        "arrives": day_of_month(rng),
        "ordered": day_of_month(rng),
        "days": rng.choice((14, 30, 60)),
        "refund": money(rng, 24, 340),
        "voucher": f"TRAIL{rng.choice((10, 15, 20, 25))}",
        "percent": rng.choice((10, 15, 20, 25)),
        "shipping": money(rng, 10, 19),
        "free_from": rng.choice((75, 100, 120)),
        "warranty_months": rng.choice((12, 24, 36)),
        "chest": rng.randint(88, 118),
    }


TOPICS: tuple[Topic, ...] = (
    Topic(
        name="stock",
        facts=facts,
        calls=(
            CallPlan(
                tool="search_products", arguments=("product", "colour"), output=("sku", "product", "colour", "price")
            ),
            CallPlan(tool="check_stock", arguments=("sku", "store", "size"), output=("sku", "store", "size", "stock")),
        ),
        questions=(
            "Do you have the {product} in {colour}, size {size}, at the {store} store?",
            "Is the {product} in {colour} in stock in {store}? I need size {size}.",
            "Can I buy the {product} in {store} today? Size {size}, {colour}.",
            "How many {product} in {colour} are left in the {store} store?",
        ),
        answers=(
            "Yes, the {product} in {colour}, size {size}, is in stock at the {store} store: {stock} are left, at "
            "EUR {price} each. I am glad to reserve one.",
            "Good news: you can buy the {product} in {colour} and size {size} in our {store} store today. There "
            "are {stock} in stock for EUR {price}. Is there anything else you need?",
        ),
    ),
    Topic(
        name="where is my order",
        facts=facts,
        calls=(
            CallPlan(
                tool="get_order", arguments=("order",), output=("order", "product", "ordered", "carrier", "parcel")
            ),
            CallPlan(tool="track_parcel", arguments=("parcel",), output=("parcel", "carrier", "arrives", "store")),
        ),
        questions=(
            "Where is my order {order}? I ordered the {product} on {ordered}.",
            "My order {order} has not arrived yet. When will the {product} come?",
            "Can you track order {order}? It should have arrived already.",
            "Has the parcel with my {product} been sent? Order {order}.",
        ),
        answers=(
            "Your order {order} with the {product}, ordered on {ordered}, has been sent with {carrier} and will "
            "arrive on {arrives}. You can track the parcel as {parcel}.",
            "I am sorry that order {order} has not arrived yet. The parcel {parcel} with your {product} is with "
            "{carrier} in {store} and will come on {arrives}; it should have been there already.",
        ),
    ),
    Topic(
        name="return",
        facts=facts,
        handoff_to="returns desk",
        calls=(
            CallPlan(tool="get_order", arguments=("order",), output=("order", "product", "ordered", "refund", "days")),
            CallPlan(
                tool="start_return", arguments=("order", "product"), output=("order", "parcel", "refund", "arrives")
            ),
        ),
        questions=(
            "I want to return the {product} from order {order}. It does not fit.",
            "How do I send back the {product}? The order is {order}.",
            "The {product} from order {order} is damaged. Can I return it and get a refund?",
            "Can I still return order {order}? I bought it on {ordered}.",
        ),
        answers=(
            "I am sorry that the {product} does not fit. I started the return from order {order}: send it back "
            "with label {parcel} within {days} days, and the refund of EUR {refund} arrives by {arrives}.",
            "Of course you can still return the {product} from order {order}, which you bought on {ordered}. "
            "Label {parcel} is in your mail; you get a refund of EUR {refund} by {arrives}. Sorry if it was "
            "damaged.",
        ),
    ),
    Topic(
        name="size",
        facts=facts,
        calls=(
            CallPlan(tool="search_products", arguments=("product",), output=("sku", "product", "price")),
            CallPlan(tool="get_size_chart", arguments=("sku",), output=("sku", "size", "chest", "product")),
        ),
        questions=(
            "Which size of the {product} should I take with a chest of {chest} cm?",
            "Does the {product} run small? I usually wear {size}.",
            "What size do you recommend for the {product}? My chest is {chest} cm.",
        ),
        answers=(
            "For a chest of {chest} cm I recommend that you take size {size} of the {product}, which is what you "
            "should usually wear; it does not run small.",
            "With a chest of {chest} cm the size chart recommends {size} for the {product}. It does not run "
            "small, so take what you usually wear. You are welcome to send it back if it does not fit.",
        ),
    ),
    Topic(
        name="comparison",
        facts=facts,
        calls=(
            CallPlan(
                tool="search_products", arguments=("product",), output=("sku", "product", "price", "grams", "use")
            ),
            CallPlan(tool="search_products", arguments=("other",), output=("other", "other_price", "other_grams")),
        ),
        questions=(
            "Which is better for {use}, the {product} or the {other}?",
            "Compare the {product} with the {other}, please. Which one is lighter?",
            "I am planning {use}. Should I get the {product} or the {other}?",
        ),
        answers=(
            "For {use} the better buy is the {product}: it weighs {grams} g and costs EUR {price}. The {other} "
            "weighs {other_grams} g and costs EUR {other_price}. I am happy to compare more.",
            "If you are planning {use}, you should get the {product} (EUR {price}, {grams} g). To compare: the "
            "{other} is EUR {other_price} at {other_grams} g, so you see which one is lighter.",
        ),
    ),
    Topic(
        name="voucher",
        facts=facts,
        calls=(
            CallPlan(
                tool="apply_voucher", arguments=("voucher", "order"), output=("voucher", "order", "percent", "refund")
            ),
        ),
        questions=(
            "My voucher {voucher} does not work for order {order}. Why?",
            "Can I use the voucher {voucher} on the {product}?",
            "Please apply voucher {voucher} to my order {order}.",
        ),
        answers=(
            "The voucher {voucher} does work now: I could apply it to your order {order}, which takes {percent} "
            "per cent off and brings the total to EUR {refund}.",
            "Gladly. You can use voucher {voucher} here: order {order} is now EUR {refund}, that is {percent} "
            "per cent less for the {product}.",
        ),
    ),
    Topic(
        name="delivery cost",
        facts=facts,
        calls=(
            CallPlan(
                tool="get_delivery_options",
                arguments=("store",),
                output=("store", "product", "shipping", "free_from", "arrives", "carrier"),
            ),
        ),
        questions=(
            "What does delivery to {store} cost, and when would it arrive?",
            "Is delivery to {store} free for the {product}?",
            "How fast can you deliver to {store}, and which carrier do you use?",
        ),
        answers=(
            "Delivery to {store} with {carrier} would cost EUR {shipping} and arrive on {arrives}. From EUR "
            "{free_from} it is free. You are welcome to order when it suits you.",
            "We deliver to {store} with the carrier {carrier} as fast as by {arrives}. Delivery is EUR "
            "{shipping}, and free from EUR {free_from}, also for the {product}. Glad to help you use it.",
        ),
    ),
    Topic(
        name="warranty",
        facts=facts,
        calls=(
            CallPlan(tool="get_order", arguments=("order",), output=("order", "product", "ordered", "sku")),
            CallPlan(tool="check_warranty", arguments=("sku",), output=("sku", "warranty_months", "arrives")),
        ),
        questions=(
            "A seam of my {product} broke. Is it still under warranty? Order {order}.",
            "How long is the warranty on the {product} from order {order}?",
            "The zip of the {product} is broken. Do you repair it under warranty?",
        ),
        answers=(
            "I am sorry that a seam or zip of your {product} broke. Order {order} is still under warranty, which "
            "is {warranty_months} months long, and we repair what is broken by {arrives}.",
            "Yes: the warranty on the {product} from order {order} is {warranty_months} months long, so a broken "
            "seam or zip is still covered. Please send it in and we repair it by {arrives}.",
        ),
    ),
)

TOOL_ERRORS = ("HTTP 503 from the stock service", "TimeoutError: no answer within 8 s", "KeyError: 'sku'")
