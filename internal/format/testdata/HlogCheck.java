import java.io.File;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogReader;

/**
 * Prints what the reference implementation reads in a histogram log, a line for
 * each interval and then one for each tag with all of its intervals merged:
 * what, tag, start and length in ms, count, percentiles and maximum in ns.
 */
public class HlogCheck {
    public static void main(String[] args) throws Exception {
        Map<String, Histogram> all = new TreeMap<>();
        HistogramLogReader reader = new HistogramLogReader(new File(args[0]));
        while (reader.hasNext()) {
            EncodableHistogram next = reader.nextIntervalHistogram();
            if (next == null) {
                throw new Exception("the log holds a line that is no interval");
            }
            Histogram h = (Histogram) next;
            print("interval", h.getTag(), h);
            if (all.containsKey(h.getTag())) {
                all.get(h.getTag()).add(h);
            } else {
                all.put(h.getTag(), h.copy());
            }
        }
        all.forEach((tag, h) -> print("all", tag, h));
    }

    static void print(String what, String tag, Histogram h) {
        System.out.println(what + " " + tag
            + " " + h.getStartTimeStamp() + " " + (h.getEndTimeStamp() - h.getStartTimeStamp())
            + " " + h.getTotalCount()
            + " " + h.getValueAtPercentile(50) + " " + h.getValueAtPercentile(90)
            + " " + h.getValueAtPercentile(99) + " " + h.getValueAtPercentile(99.9)
            + " " + h.getMaxValue());
    }
}
