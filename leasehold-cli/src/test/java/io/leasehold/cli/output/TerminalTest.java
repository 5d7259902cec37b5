package io.leasehold.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that secrets are hidden, and that JSON output stays JSON with the keys and words of the contract. */
@Tag("quick")
class TerminalTest {

    @Test
    void hidesPasswordsInTheTextsOfJsonAlone() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream stream = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        Terminal terminal = new Terminal(stream, stream);
        terminal.hide(List.of("held", "null", "\"a:b\"", "t\u00fcr"));
        Map<String, @Nullable Object> line = new LinkedHashMap<>();
        line.put("event", new Json.Word("held"));
        line.put("held", null);
        line.put("detail", "it was held by \"a:b\" at t\u00fcr");

        terminal.printJson(line);
        terminal.reportJson(line);

        assertThat(bytes.toString(StandardCharsets.UTF_8).lines())
                .hasSize(2)
                .containsOnly("{\"event\":\"held\",\"held\":null,\"detail\":\"it was *** by *** at ***\"}");
    }

    private static String printed(boolean colours) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream stream = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        Terminal terminal = new Terminal(stream, stream, () -> "", () -> colours);
        terminal.hide(List.of("secret"));
        terminal.print(new Line(Style.BAD, "a \033[1m secret"));
        terminal.print(new Line(Style.PLAIN, "b"));
        terminal.print(new Line(Style.GOOD, "t\u00fcr is long"), 3);
        return bytes.toString(StandardCharsets.UTF_8);
    }

    @Test
    void coloursOurLinesAndNothingInThem() {
        assertThat(printed(true).lines())
                .containsExactly("\033[31ma \\x1b[1m ***\033[0m", "b", "\033[32mt\u00fcr\033[0m");
        assertThat(printed(false).lines()).containsExactly("a \\x1b[1m ***", "b", "t\u00fcr");
    }

    /** Otherwise each replacement would leave a row on a narrow terminal, or on one with wide characters. */
    @Test
    void aLineThatIsReplacedDoesNotWrap() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream stream = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        Terminal terminal = new Terminal(stream, stream);

        terminal.progress("waiting");
        terminal.progress("");

        assertThat(bytes.toString(StandardCharsets.UTF_8)).isEqualTo("\r\033[K\033[?7lwaiting \033[?7h\r\033[K");
    }

    @Test
    void hasColoursWhereTheUserWantsThem() {
        assertThat(Terminal.hasColours(Map.of("TERM", "xterm"))).isTrue();
        assertThat(Terminal.hasColours(Map.of("TERM", "xterm", "NO_COLOR", ""))).isTrue();
        assertThat(Terminal.hasColours(Map.of("TERM", "xterm", "NO_COLOR", "1")))
                .isFalse();
        assertThat(Terminal.hasColours(Map.of("TERM", "dumb"))).isFalse();
        assertThat(Terminal.hasColours(Map.of())).isFalse();
    }
}
