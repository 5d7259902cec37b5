package io.leasehold.testkit.tck;

/** Names that stores take for one another, or for something else: case, blanks, accents, patterns, quotes, escapes. */
final class EasilyMixedUp {

    private EasilyMixedUp() {}

    /** Separated by bars. */
    static final String NAMES = "a|A|a |a  | a|\u00e4|a\u0308|\u00e9|e\u0301|a b|a\u00a0b|{a}|{a|a}|{a}b|{}"
            + "|a:b|a:fence|a:waiters|lock:a|a/b|a/../b|*|?|[a]|a*|a?|%|_|a%|a_|%41|\\|\\*|'|''|\"|`|';--|$1|#{x}"
            + "|\u65e5\u672c\u8a9e|\ud83d\ude00|\ud83d\ude01|null|0|00|0x0|-1|1e1|10";
}
