package io.leasehold.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.leasehold.spi.toolkit.StoreAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The parts of a store URI with hosts, and the refusal of each violation with its rule. */
@Tag("quick")
final class StoreAddressTest {

    private static final StoreAddress.Form FORM = new StoreAddress.Form(
            "x://host:port/path", 1234, List.of("span", "tls", "caFile", "flag", "tokenBase", "name"));

    private static StoreAddress parse(String text) {
        return StoreAddress.parse(StoreUri.parse(text), FORM);
    }

    private static void refused(String text, String why) {
        assertThatIllegalArgumentException().isThrownBy(() -> parse(text)).withMessageContaining(why);
    }

    @Test
    void allPartsAreRead() {
        StoreAddress address = parse("x://us%40er:p%2B+w@a.b:1,[::1]:65535,c/some/path/?name=a%20b&flag");
        assertThat(address.servers()).containsExactly("a.b:1", "[::1]:65535", "c:1234");
        assertThat(address.path()).isEqualTo("some/path");
        assertThat(address.user()).isEqualTo("us@er");
        assertThat(address.password()).as("a plus sign is one").isEqualTo("p++w");
        assertThat(address.option("name")).isEqualTo("a b");
        assertThat(address.has("flag")).isTrue();
        assertThat(address.option("flag")).isEmpty();
        assertThat(address.has("tls")).isFalse();
        assertThat(address.toString()).doesNotContain("p%2B").contains("***");
        StoreAddress bare = parse("x://host");
        assertThat(bare.path()).isEmpty();
        assertThat(bare.user()).isNull();
        assertThat(bare.password()).isNull();
        assertThat(parse("x://h/").path()).isEmpty();
        assertThat(parse("x://[::1]").servers()).containsExactly("[::1]:1234");
        assertThat(parse("x://[::]:7").servers()).containsExactly("[::]:7");
        assertThat(parse("x://u:p/w@h/path").password()).as("a slash in it").isEqualTo("p/w");
        assertThat(parse("x://u:p/@h/path").password()).as("a slash at its end").isEqualTo("p/");
        assertThat(parse("x://h?&name=x&").option("name")).isEqualTo("x");
        assertThat(bare.refused("a rule")).hasMessage("store URI \"x://host\": a rule");
    }

    @ParameterizedTest
    @CsvSource({
        "x:host, must be followed by //",
        "x://h#f, a fragment",
        "x://h?other=1, unknown option \"other\"",
        "x://h?=1, unknown option \"\"",
        "x://h?name=a&name=b, is given twice",
        "x://user@h, must be a user",
        "x://:p@h, must be a user",
        "x://u:@h, must be a user",
        "x://@h, must be a user",
        "x://, is no host",
        "'x://a,,b', is no host",
        "x://a b, is no host",
        "x://:80, \"\" is no host",
        "x:///path, \"\" is no host",
        "x://[]:1, is no host",
        "x://[::1, is no host",
        "x://h:0, from 1 to 65535",
        "x://h:65536, from 1 to 65535",
        "x://h:x, from 1 to 65535",
        "x://h:, from 1 to 65535",
        "x://u:%zz@h, two hexadecimal digits",
        "x://h?name=%4, two hexadecimal digits"
    })
    void whatBreaksARuleIsRefusedWithIt(String text, String why) {
        refused(text, why);
    }

    /** Of a password with a bare character in it, nothing is repeated, whatever its parts are taken for. */
    @ParameterizedTest
    @CsvSource({
        "x://u:hunter2?x@h",
        "x://u:x?hunter2@h",
        "x://u:x?hunter2=y@h",
        "x://u:1?tls=hunter2@h",
        "x://u:1?name=x&name=hunter2@h",
        "x://u:1?tokenBase=hunter2@h",
        "x://u:1?span=hunter2@h",
        "x://u:1?caFile=hunter2@h",
        "x://u:1?name=hunter2%zz@h",
        "x://u:hunter2#x@h",
        "x://u:hunter2@h?other=1"
    })
    void noPartOfAPasswordIsRepeated(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> {
                    StoreAddress address = parse(text);
                    address.flag("tls");
                    address.tokenBase();
                    address.duration("span");
                    address.file("caFile");
                })
                .satisfies(refusal -> assertThat(refusal.getMessage()).doesNotContain("hunter2"));
    }

    @Test
    void flagsAreTrueOrFalse() {
        assertThat(parse("x://h").flag("flag")).isFalse();
        assertThat(parse("x://h?flag=false").flag("flag")).isFalse();
        assertThat(parse("x://h?flag=true").flag("flag")).isTrue();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> parse("x://h?flag=yes").flag("flag"))
                .withMessageContaining("must be true or false");
    }

    @Test
    void spansAreFromAMillisecondToTwoDays() {
        assertThat(parse("x://h").duration("span")).isNull();
        assertThat(parse("x://h?span=1ms").duration("span")).isEqualTo(Duration.ofMillis(1));
        assertThat(parse("x://h?span=10S").duration("span")).isEqualTo(Duration.ofSeconds(10));
        assertThat(parse("x://h?span=2880m").duration("span")).isEqualTo(Duration.ofDays(2));
        for (String wrong : List.of("0ms", "2881m", "10", "10h", "-1s", "", "1.5s", "1234567890s")) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> parse("x://h?span=" + wrong).duration("span"))
                    .withMessageContaining("span=" + wrong);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "x", "", "9007199254740992", "12345678901234567", "1.0"})
    void theTokenBaseIsAWholeNumberBelowTheLimit(String wrong) {
        assertThat(parse("x://h").tokenBase()).isZero();
        assertThat(parse("x://h?tokenBase=9007199254740991").tokenBase()).isEqualTo(TokenRange.LIMIT - 1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> parse("x://h?tokenBase=" + wrong).tokenBase())
                .withMessageContaining("0 to 2^53-1");
    }

    @Test
    void filesCanBeReadAndAreForTls(@TempDir Path directory) throws Exception {
        Path file = Files.writeString(directory.resolve("ca.pem"), "x");
        String readable = "x://h?caFile=" + file;
        assertThat(parse("x://h").file("caFile")).isNull();
        assertThat(parse(readable).file("caFile")).isEqualTo(file);
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> parse("x://h?caFile=" + directory.resolve("none")).file("caFile"))
                .withMessageContaining("there is no file");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> parse("x://h?caFile=%00").file("caFile"))
                .withMessageContaining("is no path");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> parse(readable).checkTls(List.of("caFile"), List.of("name")))
                .withMessageContaining("caFile is for TLS; add tls=true");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> parse("x://h?name=a").checkTls(List.of("caFile"), List.of("name")))
                .withMessageContaining("name is for TLS");
        parse(readable + "&tls=true&name=a").checkTls(List.of("caFile"), List.of("name"));
        parse("x://h").checkTls(List.of("caFile"), List.of("name"));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> parse("x://h?tls=true&caFile=" + directory.resolve("none"))
                        .checkTls(List.of("caFile"), List.of()))
                .withMessageContaining("there is no file");
    }

    /** Some stores have a password without a user. */
    @Test
    void aPasswordMayStandAloneWhereTheFormSaysSo() {
        StoreAddress.Form form = new StoreAddress.Form("x://[[user]:password@]host", 7, List.of(), true);
        StoreAddress alone = StoreAddress.parse(StoreUri.parse("x://:p%40@h"), form);
        assertThat(alone.user()).isNull();
        assertThat(alone.password()).isEqualTo("p@");
        assertThat(StoreAddress.parse(StoreUri.parse("x://u:p@h"), form).user()).isEqualTo("u");
        for (String text : List.of("x://hunter2@h", "x://u:@h", "x://:@h")) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> StoreAddress.parse(StoreUri.parse(text), form))
                    .withMessageContaining("needs a password")
                    .satisfies(e -> assertThat(e.getMessage()).doesNotContain("hunter2"));
        }
    }
}
