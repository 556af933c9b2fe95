"""Reads and writes the few fields of sentencepiece's ModelProto that the goldens need, without protobuf's runtime.

ModelProto: 1 pieces {1 piece, 2 score, 3 type}, 2 trainer_spec {3 model_type, 4 vocab_size, 35 byte_fallback},
3 normalizer_spec {1 name, 3 add_dummy_prefix, 4 remove_extra_whitespaces, 5 escape_whitespaces}.
"""
import struct

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
BPE = 2


def _varint(number):
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes(encoded + bytes([number]))


def _field(number, value):
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def model_bytes(pieces, add_dummy_prefix):
    """pieces: (text, score, type) by id."""
    parts = [_field(1, _field(1, text.encode()) + _field(2, float(score)) + _field(3, int(kind)))
             for text, score, kind in pieces]
    parts.append(_field(2, _field(3, BPE) + _field(4, len(pieces)) + _field(35, 1)))
    parts.append(_field(3, _field(1, b"identity") + _field(3, int(add_dummy_prefix)) + _field(4, 0) + _field(5, 1)))
    return b"".join(parts)


def _fields(data):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        length = {5: 4, 1: 8}.get(key & 7) or varint()
        yield key >> 3, data[at:at + length]
        at += length


def read_pieces(model):
    pieces = []
    for number, value in _fields(model):
        if number == 1:
            piece = dict(_fields(value))
            pieces.append((piece[1].decode(), struct.unpack("<f", piece[2])[0], piece.get(3, NORMAL)))
    return pieces
