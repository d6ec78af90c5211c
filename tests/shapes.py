"""Made-up tables in the shapes of public files, each column with what its values may be."""

from __future__ import annotations

import datetime
import json
import math
import re

__all__ = ["SHAPES", "N"]

N = 700
DAY = datetime.datetime(2024, 3, 1)


def listed(draw, *values, weights=None):
    """Return a column of listed values, each of which may come, and no other."""
    return draw.choices(values, weights, k=N), set(values).__contains__


def like(pattern, values, low=-math.inf, high=math.inf):
    """Return a column of texts in one spelling, whose numbers are between bounds; blank ones may come as they do."""
    spelled, blank = re.compile(pattern), set(values) & {""}

    def is_possible(text):
        match = spelled.fullmatch(text)
        number = match and match.groupdict().get("n")
        return text in blank or (
            match is not None and (number is None or low <= float(number.replace(",", "")) <= high)
        )

    return list(values), is_possible


def times(values, form):
    """Return a column of times in one format, within a year of those that came."""
    texts = [value if isinstance(value, str) else value.strftime(form) for value in values]

    def is_possible(text):
        try:
            time = datetime.datetime.strptime(text, form)
        except ValueError:
            return text in {"", *(value for value in values if isinstance(value, str))}
        return abs(time.year - DAY.year) <= 60

    return texts, is_possible


def ids(draw, form, n=N):
    """Return a column of numbers of persons or units, of which no value may be published."""
    known = [form.format(draw.randrange(10**9)) for _ in range(n)]
    return [known[i % n] for i in range(N)], None


def many(draw, make):
    return [make(draw) for _ in range(N)]


def hospital(draw):
    days = [min(int(draw.expovariate(0.2)) + 1, 130) for _ in range(N)]
    cost = [day * draw.uniform(900, 4000) for day in days]
    return {
        "area": listed(draw, "North", "South", "Lake/Hill"),
        "age": listed(draw, "0 to 17", "18 to 29", "30 to 69", "70 or older"),
        "stay": like(r"(?P<n>\d+)|120 \+", [str(day) if day < 120 else "120 +" for day in days], 0, 130),
        "group": listed(draw, "001", "005", "099", "560"),
        "severity": listed(draw, "0", "1", "2", "3", "4"),
        "emergency": listed(draw, "Y", "N"),
        "charges": like(r"\$(?P<n>[\d,]+\.\d\d)", [f"${value:,.2f}" for value in cost], 0, 1e7),
        "year": listed(draw, "2016"),
    }


def survey(draw):
    income = many(draw, lambda d: str(d.choice([d.randint(1, 16)] * 9 + [98, 99])))
    hours = many(draw, lambda d: str(d.choice([d.randint(0, 89)] * 20 + [998, 999, -1])))
    return {
        "respondent": ([str(100_000 + i) for i in range(N)], None),
        "sex": listed(draw, "1", "2"),
        "income": (income, {*map(str, range(1, 17)), "98", "99"}.__contains__),
        "hours": (hours, {*map(str, range(100)), "998", "999", "-1"}.__contains__),
        "q7": listed(draw, "1", "2", "3", "4", "5", "8", "9"),
        "weight": like(r"\d+\.\d{4}", many(draw, lambda d: f"{d.lognormvariate(0, 0.4):.4f}")),
        "answer": listed(draw, "Strongly agree", "Agree", "Disagree", "Don't know"),
        "share": like(r"(?P<n>\d+)%", many(draw, lambda d: f"{d.randint(0, 100)}%"), 0, 100),
    }


def calls(draw):
    starts = [DAY + datetime.timedelta(seconds=draw.randrange(30 * 86_400)) for _ in range(N)]
    spans = [int(draw.expovariate(1 / 90)) for _ in range(N)]
    ends = [start + datetime.timedelta(seconds=span) for start, span in zip(starts, spans, strict=True)]
    return {
        "caller": ids(draw, "447{:09}", 60),
        "start": times(starts, "%Y-%m-%dT%H:%M:%SZ"),
        "end": times(ends, "%Y-%m-%dT%H:%M:%SZ"),
        "area": listed(draw, "1A2F", "FF", "9E3", "1E5"),
        "kind": listed(draw, "MO", "MT"),
    }


def taxi(draw):
    starts = [DAY + datetime.timedelta(seconds=draw.randrange(30 * 86_400)) for _ in range(N)]
    minutes = [draw.expovariate(1 / 12) for _ in range(N)]
    ends = [start + datetime.timedelta(minutes=m) for start, m in zip(starts, minutes, strict=True)]
    return {
        "vendor": listed(draw, "1", "2"),
        "pickup": times(starts, "%m/%d/%Y %I:%M:%S %p"),
        "dropoff": times(ends, "%m/%d/%Y %I:%M:%S %p"),
        "passengers": listed(draw, "1", "2", "3", "5", "0", "", weights=[9, 3, 2, 1, 1, 1]),
        "distance": like(r"\d+\.\d", [f"{m / 4:.1f}" for m in minutes]),
        "longitude": like(r"(?P<n>-\d+\.\d{6})", many(draw, lambda d: f"{d.gauss(-73.98, 0.03):.6f}"), -75, -73),
        "rate": listed(draw, "1", "2", "5", "99"),
        "tolls": listed(draw, "0.00", "6.55", "12.75", weights=[12, 2, 1]),
        "tax": listed(draw, "0.5", "0", "-0.5"),
    }


def census(draw):
    ages = [draw.randint(0, 95) for _ in range(N)]
    return {
        "serial": ([f"{i // 3:07}" for i in range(N)], None),
        "state": listed(draw, "01", "06", "12", "36"),
        "puma": listed(draw, "00000", "00100", "03701", "04012"),
        "age": (list(map(str, ages)), {*map(str, range(100))}.__contains__),
        "race": listed(draw, "1", "2", "3", "7"),
        "job": (
            ["0000" if age < 16 else draw.choice(["0010", "0430", "2310", "9920"]) for age in ages],
            {"0000", "0010", "0430", "2310", "9920"}.__contains__,
        ),
        "school": listed(draw, "0", "11", "63", "101", "999"),
    }


def clicks(draw):
    return {
        "user_id": ids(draw, "u{:09}", 100),
        "event": listed(draw, "view", "click", "buy"),
        "path": listed(draw, "/", "/cart", "/p/1", "/search?q=a%20b"),
        "props": (
            many(draw, lambda d: json.dumps({"os": d.choice(["a", "b"]), "v": d.randrange(2)})),
            lambda text: set(json.loads(text)) == {"os", "v"},
        ),
        "logged_in": listed(draw, "true", "false", ""),
        "referrer": listed(draw, "", "search", "direct"),
    }


def trial(draw):
    visits = [DAY + datetime.timedelta(days=draw.randrange(300)) for _ in range(N)]
    doses = many(draw, lambda d: d.lognormvariate(1, 1))
    return {
        "subject": ids(draw, "01-{:09}", N // 5),
        "arm": listed(draw, "Placebo", "Drug 10 mg", "Drug 20 mg"),
        "visit": times(visits, "%Y-%m-%d"),
        "crp": like(r"\d+\.\d\d|<0\.20", ["<0.20" if dose < 0.7 else f"{dose:.2f}" for dose in doses]),
        "event": listed(draw, "", "NAUSEA", "HEADACHE", "Headache"),
        "serious": listed(draw, "Y", "N", "U"),
    }


def excel(draw):
    def german(value):
        return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))

    return {
        "Region": listed(draw, "Süd", "Nord", "Ost"),
        "Umsatz": like(r"[\d.]+,\d\d €", many(draw, lambda d: f"{german(d.lognormvariate(8, 1))} €")),
        "Anteil": like(r"\d+,\d %", many(draw, lambda d: f"{d.randint(0, 1000) / 10:.1f} %".replace(".", ","))),
        "Datum": times([DAY + datetime.timedelta(days=draw.randrange(300)) for _ in range(N)], "%d.%m.%Y"),
        "PLZ": listed(draw, "01067", "80331", "20095"),
    }


def one_hot(draw):
    soils = [draw.choices(range(6), [1 / (k + 1) for k in range(6)])[0] for _ in range(N)]
    columns = {f"soil_{k}": ([str(int(k == soil)) for soil in soils], {"0", "1"}.__contains__) for k in range(6)}
    return {"label": listed(draw, "1", "2", "3"), **columns, "flag": listed(draw, "0", "1")}


def meter(draw):
    base = [draw.lognormvariate(-1.5, 0.5) for _ in range(N)]
    hours = {
        f"{hour:02}:00": like(
            r"\d+\.\d{3}", [f"{b * (1 + math.sin(hour / 8) ** 2) * draw.uniform(0.5, 1.5):.3f}" for b in base]
        )
        for hour in range(0, 24, 6)
    }
    return {"meter": ids(draw, "MAC{:09}", 40), "tariff": listed(draw, "Std", "ToU"), **hours}


def geo(draw):
    return {
        "lat": like(r"(?P<n>\d+\.\d{5})", many(draw, lambda d: f"{d.gauss(48.1, 0.2):.5f}"), 46, 50),
        "country": listed(draw, "DE", "AT", "NA"),
        "height": like(r"(?P<n>\d+) m", many(draw, lambda d: f"{d.randint(400, 900)} m"), 0, 1000),
        "hex": listed(draw, "0x1F", "0x20"),
    }


def loans(draw):
    return {
        "amount": like(r"(?P<n>\d+)", many(draw, lambda d: str(d.randrange(1000, 35_001, 25))), 0, 50_000),
        "rate": like(r"(?P<n>\d+\.\d\d)%", many(draw, lambda d: f"{d.uniform(5, 25):.2f}%"), 0, 40),
        "grade": listed(draw, *(f"{letter}{i}" for letter in "ABC" for i in range(1, 6))),
        "years": listed(draw, "10+ years", "< 1 year", "2 years", "n/a"),
        "issued": times([DAY.replace(year=2015, month=draw.randint(1, 12)) for _ in range(N)], "%b-%Y"),
        "status": listed(draw, "Fully Paid", "Charged Off"),
        "late": like(r"(?P<n>\d+)", many(draw, lambda d: "" if d.random() < 0.5 else str(d.randint(0, 80))), 0, 100),
    }


SHAPES = [hospital, survey, calls, taxi, census, clicks, trial, excel, one_hot, meter, geo, loans]
