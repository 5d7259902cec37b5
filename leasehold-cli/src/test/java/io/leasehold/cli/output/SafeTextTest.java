package io.leasehold.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that any name or message becomes one line that a terminal only prints. */
@Tag("quick")
class SafeTextTest {

    @Test
    void leavesWhatCanBePrinted() {
        assertThat(SafeText.line("job \u00e4\u4e2d \ud83d\ude80 \"quoted\" \\n"))
                .isEqualTo("job \u00e4\u4e2d \ud83d\ude80 \"quoted\" \\n");
        assertThat(SafeText.line("")).isEmpty();
    }

    @Test
    void makesOneLineOfSeveral() {
        assertThat(SafeText.line("a\nb\r\nc\td")).isEqualTo("a\\nb\\r\\nc\\td");
        assertThat(SafeText.line("a\u2028b\u2029c\u0085d")).isEqualTo("a\\u2028b\\u2029c\\x85d");
    }

    @Test
    void takesCommandsToTheTerminalAway() {
        assertThat(SafeText.line("\u001b[31mred\u0007\u0000\u007f\u009b2J"))
                .isEqualTo("\\x1b[31mred\\x07\\x00\\x7f\\x9b2J");
    }

    @Test
    void showsWhatReordersOrHidesText() {
        assertThat(SafeText.line("a\u202eb\u200bc\ufeffd\u00ade")).isEqualTo("a\\u202eb\\u200bc\\ufeffd\\u00ade");
        assertThat(SafeText.line("tag " + Character.toString(0xE0041))).isEqualTo("tag \\ue0041");
    }

    @Test
    void showsHalfACharacter() {
        assertThat(SafeText.line("a\ud83d")).isEqualTo("a\\ud83d");
    }
}
