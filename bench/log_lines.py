"""Lines of a log, in English and Chinese: templates with ids, names, hosts and numbers in them.

Names of people and of jobs are made of parts, so that there are very many, each in few lines; their
parts are everywhere. Incidents are told of in the lines of some files alone, as they happen.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.made_table import hex_texts, mixed

_FAMILY = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾萧田董袁潘于蒋蔡余杜叶程苏魏"
)
_GIVEN = (
    "伟芳娜秀英敏静丽强磊军洋勇艳杰娟涛明超兰霞平刚桂建国志华文辉玉红波宁健俊帆雪荣爱琴云龙海山"
)
_FIRST = ("amber", "birch", "cedar", "delta", "ember", "flint", "grove", "haven", "inlet", "jasper")
_SECOND = ("falcon", "heron", "lynx", "marten", "otter", "plover", "raven", "stoat", "tern", "wren")
_THIRD = ("archive", "billing", "catalog", "export", "import", "ledger", "mailing", "replica")
NAMES = len(_FAMILY) * len(_GIVEN) ** 2
JOBS = len(_FIRST) * len(_SECOND) * len(_THIRD) * 100

ENGLISH = (
    *("checksum mismatch", "heap exhausted", "certificate expired", "disk quota exceeded"),
    *("split brain", "clock skew", "poison message", "broken pipe", "deadlock", "SIGSEGV"),
)
CHINESE = (
    *("校验和不匹配", "内存溢出", "证书过期", "磁盘已满", "主从不一致"),
    *("时钟偏移", "消息积压", "连接池耗尽", "死锁", "线程阻塞"),
)
INCIDENTS = (*ENGLISH, *CHINESE)
_INCIDENT_SHARE, _INCIDENT_LINES = 0.04, 40  # of the files, and in each of those
_ENGLISH_INCIDENT = "{i} on node {n}, request {x}, operators were paged and the shard taken out"
_CHINESE_INCIDENT = "{i}，节点{n}，请求编号{x}，已通知值班人员处理，预计{n}秒后恢复"

# {n}: a number, {x}: hex digits, {p}: a person, {j}: a job.
_TEMPLATES = (
    "GET /api/v2/orders/{n} returned 200 in {n} microseconds, request {x}, served by shop-frontend",
    "cache entry {x} expired after {n} ms and was loaded again from the replica, {n} bytes in all",
    "connection {n} to the payment gateway was reset by peer, retrying request {x}, attempt 2 of 5",
    "job {j} finished: {n} rows written, checkpoint {n}, no error was reported by its 16 tasks",
    "job {j} is waiting for a lock that session {x} has held for {n} ms, priority is normal",
    "slow query took {n} ms: SELECT total, currency FROM invoices WHERE customer = {n} AND open",
    "用户{p}登录成功，会话编号{x}，来源为移动端应用，耗时{n}毫秒，上次登录在三天以前",
    "订单{n}支付失败，付款人{p}的账户余额不足，系统将在{n}秒后重新尝试扣款，请通知客户服务人员",
    "库存服务响应缓慢，商品编号{n}的查询用了{n}毫秒，请求编号{x}，请检查数据库连接",
)
_SHARES = (0.3, 0.14, 0.08, 0.08, 0.05, 0.1, 0.12, 0.05, 0.08)


def messages(random: np.random.Generator, rows: int) -> pa.Array:
    """So many messages, in any order."""
    which = random.choice(len(_TEMPLATES), rows, p=_SHARES)
    parts, places = [], []
    for number, template in enumerate(_TEMPLATES):
        mine = np.flatnonzero(which == number)
        parts.append(_filled(template, random, len(mine)))
        places.append(mine)
    texts = pa.concat_arrays(parts)
    return texts.take(pa.array(np.argsort(np.concatenate(places), kind="stable")))


def with_incidents(texts: pa.Array, random: np.random.Generator) -> pa.Array:
    """The messages of one file, with those of the incidents of its time among them."""
    begun = np.flatnonzero(random.random(len(INCIDENTS)) < _INCIDENT_SHARE)
    places = random.permutation(len(texts))[: _INCIDENT_LINES * len(begun)]
    told = []
    for incident in begun.tolist():
        phrase = INCIDENTS[incident]
        template = _ENGLISH_INCIDENT if phrase.isascii() else _CHINESE_INCIDENT
        told.append(_filled(template.replace("{i}", phrase), random, _INCIDENT_LINES))
    if not told:
        return texts
    places = np.sort(places)
    mask = np.zeros(len(texts), dtype=bool)
    mask[places] = True
    found: pa.Array = pc.replace_with_mask(texts, mask, pa.concat_arrays(told)[: len(places)])
    return found


def person(number: int) -> str:
    """The name of a person."""
    family, rest = divmod(number % NAMES, len(_GIVEN) ** 2)
    return _FAMILY[family] + _GIVEN[rest // len(_GIVEN)] + _GIVEN[rest % len(_GIVEN)]


def job(number: int) -> str:
    """The name of a job."""
    rest, serial = divmod(number % JOBS, 100)
    rest, third = divmod(rest, len(_THIRD))
    first, second = divmod(rest, len(_SECOND))
    return f"{_FIRST[first]}-{_SECOND[second]}-{_THIRD[third]}-{serial:02d}"


def _filled(template: str, random: np.random.Generator, rows: int) -> pa.Array:
    pieces: list[pa.Array | str] = []
    for piece in template.replace("{", "}{").split("}"):
        if piece == "{n":
            numbers = (10 ** (random.random(rows) * 8)).astype(np.int64)
            pieces.append(pc.cast(pa.array(numbers), pa.string()))
        elif piece == "{x":
            words = random.integers(0, 1 << 62, rows).astype(np.uint64)
            pieces.append(hex_texts(mixed(words)))
        elif piece == "{p":
            pieces.append(_stock(_people(), random, rows))
        elif piece == "{j":
            pieces.append(_stock(_jobs(), random, rows))
        elif piece:
            pieces.append(pa.scalar(piece))
    found: pa.Array = pc.binary_join_element_wise(*pieces, "")
    return found


def _stock(stock: pa.Array, random: np.random.Generator, rows: int) -> pa.Array:
    return stock.take(pa.array(random.integers(0, len(stock), rows)))


@cache
def _people() -> pa.Array:
    return pa.array([person(number) for number in range(NAMES)])


@cache
def _jobs() -> pa.Array:
    return pa.array([job(number) for number in range(JOBS)])
