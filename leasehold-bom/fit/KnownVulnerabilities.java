import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Asks a database of the form of <a href="https://google.github.io/osv.dev/api/">OSV</a> which artefacts have a known vulnerability.
 *
 * <p>Arguments: its address, a file of artefacts ({@code group:artifact:version} a line), and a file of accepted vulnerabilities (an id and a
 * reason a line). Exits 0 if none is left, 1 if there is one, 69 if the database cannot be asked.
 */
public final class KnownVulnerabilities {

    private static final Pattern ID = Pattern.compile("\"id\"\\s*:\\s*\"((?:GHSA|CVE|OSV|MAL)-[^\"]+)\"");
    private static final int FOUND = 1;
    private static final int UNAVAILABLE = 69;

    private final HttpClient http =
            HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();
    private final URI query;

    private KnownVulnerabilities(URI query) {
        this.query = query;
    }

    public static void main(String[] arguments) throws Exception {
        List<String> artefacts = lines(Path.of(arguments[1]));
        Set<String> accepted = lines(Path.of(arguments[2])).stream()
                .map(line -> line.split("\\s", 2)[0])
                .collect(Collectors.toSet());
        if (artefacts.isEmpty()) {
            throw new IllegalArgumentException(arguments[1] + " names no artefact");
        }
        KnownVulnerabilities database = new KnownVulnerabilities(URI.create(arguments[0] + "/v1/query"));
        List<String> found = new ArrayList<>();
        try {
            for (String artefact : artefacts) {
                Set<String> ids = database.of(artefact);
                ids.removeAll(accepted);
                if (!ids.isEmpty()) {
                    found.add(artefact + " has " + String.join(", ", ids));
                }
            }
        } catch (IOException e) {
            System.out.println("NOT CHECKED for known vulnerabilities: " + database.query + " cannot be asked: " + e);
            System.exit(UNAVAILABLE);
        }
        found.forEach(System.out::println);
        System.out.println(artefacts.size() + " artefacts, " + found.size() + " with a known vulnerability that is not accepted");
        System.exit(found.isEmpty() ? 0 : FOUND);
    }

    private static List<String> lines(Path file) throws IOException {
        try (Stream<String> lines = Files.lines(file)) {
            return lines.map(String::strip)
                    .filter(line -> !line.isEmpty() && !line.startsWith("#"))
                    .toList();
        }
    }

    private Set<String> of(String artefact) throws IOException, InterruptedException {
        int end = artefact.lastIndexOf(':');
        HttpRequest request = HttpRequest.newBuilder(query)
                .timeout(Duration.ofSeconds(30))
                .POST(HttpRequest.BodyPublishers.ofString("{\"package\":{\"ecosystem\":\"Maven\",\"name\":\""
                        + artefact.substring(0, end) + "\"},\"version\":\"" + artefact.substring(end + 1) + "\"}"))
                .build();
        HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200) {
            throw new IOException("HTTP status " + answer.statusCode() + " for " + artefact);
        }
        Set<String> ids = new TreeSet<>();
        for (Matcher id = ID.matcher(answer.body()); id.find(); ) {
            ids.add(id.group(1));
        }
        return ids;
    }
}
