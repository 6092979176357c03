#include "tests/demo/svg.h"

#include <iomanip>
#include <sstream>
#include <utility>

namespace lastcall::demo {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + coordinate(value) + "\"";
}

std::string class_attribute(std::string_view css_class) {
  return " class=\"" + std::string(css_class) + "\"";
}

}  // namespace

std::string coordinate(double value) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << value;
  return text.str();
}

Svg::Svg(double width, double height, std::string_view title, std::string_view description,
         std::string_view style) {
  const std::string size = coordinate(width) + " " + coordinate(height);
  out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 " + size + "\"" +
         attribute("width", width) + attribute("height", height) + ">\n<title>" + escaped(title) +
         "</title>\n<desc>" + escaped(description) + "</desc>\n<style>" + std::string(style) +
         "</style>\n";
}

void Svg::rect(double x, double y, double width, double height, std::string_view css_class,
               std::string_view tooltip) {
  shape("rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
            attribute("height", height),
        css_class, tooltip);
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view css_class) {
  shape("line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
            attribute("y2", y2),
        css_class, {});
}

void Svg::pointer(double x, double y, double size, std::string_view css_class,
                  std::string_view tooltip) {
  const double half = size / 2;
  shape("path d=\"M" + coordinate(x) + " " + coordinate(y) + "l" + coordinate(-half) + " " +
            coordinate(-size) + "h" + coordinate(size) + "z\"",
        css_class, tooltip);
}

void Svg::text(double x, double y, std::string_view css_class, std::string_view text) {
  out_ += "<text" + class_attribute(css_class) + attribute("x", x) + attribute("y", y) + ">" +
          escaped(text) + "</text>\n";
}

std::string Svg::finish() { return std::move(out_) + "</svg>\n"; }

void Svg::shape(const std::string& element, std::string_view css_class, std::string_view tooltip) {
  out_ += "<" + element + class_attribute(css_class);
  if (tooltip.empty()) {
    out_ += "/>\n";
  } else {
    const std::string name = element.substr(0, element.find(' '));
    out_ += "><title>" + escaped(tooltip) + "</title></" + name + ">\n";
  }
}

}  // namespace lastcall::demo
