"""Names of columns that say what stands in them: identifiers, persons, labels, codes."""

from __future__ import annotations

import re

_WHO = (
    "customer|client|patient|person|subject|participant|user|member|holder|owner|driver|student|"
    "employee|citizen|household|cardholder|payer|payee|beneficiary|sender|recipient|subscriber|"
    "insured|borrower|tenant|passenger|voter|applicant|account|device"
)
_NUMBERED = (
    f"{_WHO}|card|order|invoice|transaction|document|tax|serial|policy|contract|booking|ticket|"
    "case|record|reference|registration|insurance|social_security|vehicle|trace"
)
_NUMBER = "no|nr|num|number|nummer|key|ref|reference|token|hash"
_IDENTIFIER = re.compile(
    rf"(^|_)(id|ids|pid|uid|uuid|guid|iban|bban|bic|e_?mail|email_address|phone|mobile|msisdn|telephone|"
    rf"tel|fax|ssn|nin|passport|imei|imsi|vin|licen[cs]e_?plate|plate|ip|ip_address|mac_address|"
    rf"user_?name|login|({_NUMBERED})_?({_NUMBER})|tail_number|phone_number)(_?hash)?$"
    rf"|^(id|uuid)_|^({_WHO})s?$|^(row|line|record)_?(id|no|nr|num|number)?$|^rownum$"
)
_PERSON = re.compile(
    rf"(^|_)({_WHO})s?(_?(id|ids|uid|uuid|{_NUMBER}|code|name))?$|(^|_)(iban|ssn|nin|pid|e_?mail|"
    r"passport|phone|msisdn)$|^tail_number$|^(unit|engine|machine|vehicle|aircraft)_(id|no|nr|number)$"
)
#: Names of people and places they live at.
_PERSONAL = re.compile(
    rf"^((full|first|last|sur|family|given|middle|maiden|nick)_?)?name$|(^|_)({_WHO})_?name$|"
    r"(^|_)(street|address|surname|firstname|lastname)$"
)
_LABEL = re.compile(
    r"^(is_?|has_?)?(fraud|fraudulent|outlier|anomaly|anomalous|anomalies|abnormal|intrusion|"
    r"malicious|attack|label|labels|class|target|ground_?truth|truth)"
    r"(_?(label|labels|flag|class|ind|indicator|yn))?$"
)
_CODE = re.compile(
    r"(^|_)(code|codes|zip|zip_?code|postcode|postal|postal_?code|plz|icd|icd_?\d+|mcc|sic|nace|naics|"
    r"atc|cpt|drg|type|kind|category|cat|status|branch|department|dept|region|district|state|country|"
    r"county|city|gender|sex|currency|channel|segment|group|grade|sector|language|color|colour|"
    r"brand|product|merchant|terminal|site|ward|weekday|day_of_week|flag)$"
)
_INDEX = re.compile(r"^(Unnamed: \d+|__index_level_\d+__|)$")


def plain_name(name: str) -> str:
    """A name in small letters, its words apart by underscores: `customerId` is customer_id."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.strip())
    return re.sub(r"[^0-9a-z]+", "_", apart.lower()).strip("_")


def names_identifier(name: str) -> bool:
    """Whether a name is that of something that tells records, or people, apart."""
    return _IDENTIFIER.search(plain_name(name)) is not None


def names_person(name: str) -> bool:
    """Whether a name is that of something that says whose record a row is."""
    return _PERSON.search(plain_name(name)) is not None


def names_personal(name: str) -> bool:
    """Whether a name is that of people's names or addresses."""
    return _PERSONAL.search(plain_name(name)) is not None


def names_label(name: str) -> bool:
    """Whether a name is that of what an anomaly detector is to find."""
    return _LABEL.search(plain_name(name)) is not None


def names_code(name: str) -> bool:
    """Whether a name is that of codes or categories, which no sum of is anything."""
    return _CODE.search(plain_name(name)) is not None


def is_index_name(name: str) -> bool:
    """Whether a column is called as an index without a name is when a frame is saved."""
    return _INDEX.match(name) is not None
