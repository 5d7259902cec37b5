package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.TypeConversionException;

/** Tests of durations on the command line: a number needs a unit, and nothing is guessed. */
@Tag("quick")
class DurationConverterTest {

    private final DurationConverter converter = new DurationConverter();

    @ParameterizedTest
    @CsvSource({
        "0s, PT0S",
        "1ms, PT0.001S",
        "500ms, PT0.5S",
        "1.5s, PT1.5S",
        "0.000000001s, PT0.000000001S",
        "2m, PT2M",
        "1h30m, PT1H30M",
        "1d2h3m4s5ms, P1DT2H3M4.005S",
        "0.5d, PT12H",
        "36500d, P36500D",
    })
    void reads(String text, Duration expected) {
        assertThat(converter.convert(text)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "", " ", "s", "5 s", " 5s", "5s ", "-5s", "+5s", "5S", ".5s", "5.s", "1,5s", "1e3s", "5us", "5sec",
                "5s-1s", "PT5S", "\u0665s", "5s\n", "forever"
            })
    void refusesAndNamesTheValueAndTheRule(String text) {
        assertThatThrownBy(() -> converter.convert(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessageContaining("\"" + text + "\" is not a duration")
                .hasMessageContaining("write for example 30s");
    }

    @ParameterizedTest
    @CsvSource({"3, 3s", "0, 0s", "1.5, 1.5s"})
    void asksForTheUnit(String text, String suggestion) {
        assertThatThrownBy(() -> converter.convert(text))
                .hasMessageContaining("the unit is missing")
                .hasMessageContaining("write " + suggestion + " for seconds");
    }

    @ParameterizedTest
    @ValueSource(strings = {"36500d1ms", "36501d", "99999999999999999999999999999d", "9223372036854775808s"})
    void refusesWhatIsTooLong(String text) {
        assertThatThrownBy(() -> converter.convert(text)).hasMessageContaining("the longest duration is 36500d");
    }

    /** Even an extremely long number costs no noticeable time. */
    @Test
    void readsNoMoreThanSoManyCharacters() {
        assertThat(converter.convert("0".repeat(30) + "5s")).isEqualTo(Duration.ofSeconds(5));
        assertThatThrownBy(() -> converter.convert("0".repeat(31) + "5s"))
                .hasMessageContaining("write for example 30s");
    }
}
